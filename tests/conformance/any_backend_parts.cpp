#include "conformance/any_backend.hpp"
#include "conformance/channel_cases.hpp"
#include "conformance/nonblocking_cases.hpp"
#include "conformance/splitting_cases.hpp"

namespace conformance {

void add_messages_parts_and_overlap(Suite<CommBackend>& suite) {
  channel_cases(suite);
  splitting_cases(suite);
  nonblocking_cases(suite);
  persistent_cases(suite);
}

}  // namespace conformance
