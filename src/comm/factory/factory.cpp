#include <cobre/comm/factory.hpp>

#include "comm/factory/selection.hpp"

namespace cobre::comm {

CommBackend create_communicator() {
  return create_communicator(factory::requested_backend());
}

CommBackend create_communicator(BackendKind kind) {
  if (kind == BackendKind::Auto) kind = factory::detect_backend();
  factory::require_available(kind);
  switch (kind) {
#ifdef COBRE_COMM_HAS_MPI
    case BackendKind::Mpi: return create_communicator(MpiConfig::from_environment());
#endif
#ifdef COBRE_COMM_HAS_TCP
    case BackendKind::Tcp: return create_communicator(TcpConfig::from_environment());
#endif
#ifdef COBRE_COMM_HAS_SHM
    case BackendKind::Shm: return create_communicator(ShmConfig::from_environment());
#endif
    default: return CommBackend(LocalBackend());
  }
}

#ifdef COBRE_COMM_HAS_MPI
CommBackend create_communicator(const MpiConfig& config) {
  return CommBackend(FerrompiBackend::init(ferrompi::ThreadLevel::Multiple, config));
}
#endif

#ifdef COBRE_COMM_HAS_SHM
CommBackend create_communicator(const ShmConfig& config) {
  return CommBackend(ShmBackend::attach(config));
}
#endif

#ifdef COBRE_COMM_HAS_TCP
CommBackend create_communicator(const TcpConfig& config) {
  return CommBackend(TcpBackend::connect(config));
}
#endif

}  // namespace cobre::comm
