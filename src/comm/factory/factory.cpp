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
    case BackendKind::Mpi: return CommBackend(FerrompiBackend::init());
#endif
    default: return CommBackend(LocalBackend());
  }
}

}  // namespace cobre::comm
