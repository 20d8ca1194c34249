// How ranks find out about each other. Apart from `Communicator::topology()` so that a test can put in what this
// machine does not have: many hosts, names of any length, a rank that cannot tell its name.
#pragma once

#include <ferrompi/communicator.hpp>
#include <ferrompi/topology.hpp>

#include <optional>
#include <string>

namespace ferrompi::detail {

/// What one rank knows by itself.
struct LocalFacts {
  std::string hostname;
  std::string library_version;
  std::string standard_version;
  ThreadLevel thread_level = ThreadLevel::Single;
  std::optional<SlurmInfo> slurm;
  /// Why the above could not be found out; empty if it could.
  std::string failure;
};

/// Never throws for what MPI says: a failure is a fact to be exchanged.
[[nodiscard]] LocalFacts local_facts();

/// Collective. If any rank failed, every rank throws, naming it and its reason.
[[nodiscard]] TopologyInfo exchange_topology(const Communicator& comm, const LocalFacts& mine);

}  // namespace ferrompi::detail
