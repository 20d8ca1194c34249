#include "conformance/any_backend.hpp"

#include "conformance/conformance.hpp"

namespace conformance {

Suite<CommBackend> any_backend_suite(RandomOperations random_operations) {
  auto suite = communicator_suite<CommBackend>(random_operations);
  region_cases(suite);
  add_messages_parts_and_overlap(suite);
  return suite;
}

}  // namespace conformance
