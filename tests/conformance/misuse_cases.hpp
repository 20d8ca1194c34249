// Every public call with every kind of argument that it can be given wrongly. A refusal is the same on every backend,
// happens before anything is sent, and leaves the communicator good. Compiled once, over the type that holds any
// backend.
#pragma once

#include "conformance/any_backend.hpp"

namespace conformance {

void misuse_cases(Suite<CommBackend>& suite);

}  // namespace conformance
