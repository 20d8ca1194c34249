// What an observer of any backend is told.
#pragma once

#include "conformance/any_backend.hpp"

namespace conformance {

void watching_cases(Suite<CommBackend>& suite);

}  // namespace conformance
