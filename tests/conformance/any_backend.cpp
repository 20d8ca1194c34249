#include "conformance/any_backend.hpp"

#include "conformance/conformance.hpp"

namespace conformance {

Suite<CommBackend> any_backend_suite(RandomOperations random_operations) {
  return full_suite<CommBackend>(random_operations);
}

}  // namespace conformance
