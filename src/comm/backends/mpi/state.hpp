// What one mpi communicator owns.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>
#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/mpi.hpp>
#include <cobre/comm/topology.hpp>
#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/backends/mpi/checker.hpp"
#include "comm/backends/mpi/perform.hpp"
#include "comm/backends/mpi/plans.hpp"

namespace cobre::comm::detail {

/// Grows to what the operations of this communicator need and is kept, so that a repeated one allocates nothing.
struct MpiScratch {
  std::vector<std::byte> gathered;
  std::vector<std::byte> reduced;
  std::vector<const void*> sources;
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
  std::vector<std::size_t> part_counts;
  std::vector<std::size_t> part_displs;
  std::vector<int> int_counts;
  std::vector<int> int_displs;
};

struct MpiState {
  // In order of construction: whatever is declared later goes first, and MPI itself last.
  std::shared_ptr<MpiState> origin{};  // whose `world` this one borrows; null where it is its own
  std::shared_ptr<ferrompi::Mpi> mpi;  // null where the caller runs MPI
  ferrompi::Communicator world;
  std::shared_ptr<ferrompi::Communicator> node;  // shared with regions, which may outlive the backend
  ExecutionTopology topology;
  MpiConfig config{};

  // One operation at a time: these are written by the operation that runs.
  std::shared_ptr<mpi::Gate> gate;  // shared with regions, like the node, and mail
  mutable MpiScratch scratch{};
  std::unique_ptr<mpi::Plans> plans{};                     // null where the library has nothing to gain by them
  std::shared_ptr<mpi::CollectiveChecker> checker{};       // null unless config.check
  std::shared_ptr<mpi::CollectiveChecker> node_checker{};  // the same for fences; shared with regions, like the node
  mutable std::uint64_t regions = 0;                       // made so far, by which the ranks of a node tell them apart
  std::shared_ptr<detail::Mailbox> mail;                   // shared with channels, which may outlive the backend

  [[nodiscard]] Where where(std::string_view operation) const noexcept {
    return {operation, static_cast<std::size_t>(world.rank()), static_cast<std::size_t>(world.size())};
  }
};

}  // namespace cobre::comm::detail
