// The suite over the type that holds any backend. It is compiled once: for every backend again, it took longer to
// compile than to run. That a backend's own type does the same is seen with local's and with the reference.
#pragma once

#include <cobre/comm.hpp>

#include <string>

#include "conformance/suite.hpp"

namespace conformance {

using cobre::comm::CommBackend;

/// Every case.
Suite<CommBackend> any_backend_suite(RandomOperations random_operations = ten_thousand_operations);

/// What takes a while to compile again, compiled on its own.
void add_messages_parts_and_overlap(Suite<CommBackend>& suite);

/// How a backend joins: `const bool joined = conformance::join<MyWorld>("MyBackend");`
template <class World>
bool join(const std::string& backend) {
  return join<World>(backend, any_backend_suite());
}

}  // namespace conformance
