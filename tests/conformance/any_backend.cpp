#include "conformance/any_backend.hpp"

#include "conformance/conformance.hpp"
#include "conformance/misuse_cases.hpp"
#include "conformance/watching_cases.hpp"

namespace conformance {

Suite<CommBackend> any_backend_suite(RandomOperations random_operations) {
  auto suite = communicator_suite<CommBackend>(random_operations);
  region_cases(suite);
  add_messages_parts_and_overlap(suite);
  misuse_cases(suite);
  watching_cases(suite);
  return suite;
}

}  // namespace conformance
