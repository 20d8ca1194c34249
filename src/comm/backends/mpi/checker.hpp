// Finding out that ranks mean different operations, before MPI hangs over it. Opt-in: COBRE_COMM_CHECK=1.
#pragma once

#include <cobre/comm/detail/operation.hpp>
#include <ferrompi/communicator.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace cobre::comm::mpi {

/// Exchanges the record of every operation over a communicator of its own, each rank with each other: costly, and able
/// to say who is missing.
class CollectiveChecker {
 public:
  /// Collective.
  CollectiveChecker(const ferrompi::Communicator& world, std::optional<std::chrono::seconds> timeout);

  /// Collective. Throws CollectiveMismatch on every rank where the records differ, and TimedOut where a rank does not
  /// come in time. Warns of missing ranks after ten seconds, then at doubling intervals.
  void compare(detail::OperationRecord record);

 private:
  void wait_for_all(const detail::OperationRecord& record);

  ferrompi::Communicator comm_;
  std::optional<std::chrono::seconds> timeout_;
  std::uint64_t sequence_ = 0;
  std::vector<detail::OperationRecord> records_;
};

}  // namespace cobre::comm::mpi
