#include <cobre/comm/factory.hpp>

#include "comm/factory/selection.hpp"

namespace cobre::comm {

CommBackend create_communicator() {
  return create_communicator(factory::requested_backend());
}

CommBackend create_communicator(BackendKind kind) {
  if (kind == BackendKind::Auto) kind = factory::detect_backend();
  factory::require_available(kind);
  return CommBackend(LocalBackend());
}

}  // namespace cobre::comm
