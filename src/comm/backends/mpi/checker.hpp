// Finding out that ranks mean different operations, before MPI hangs over it. Opt-in: COBRE_COMM_CHECK=1.
#pragma once

#include <cobre/comm/detail/calls.hpp>
#include <cobre/comm/detail/operation.hpp>
#include <ferrompi/communicator.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace cobre::comm::mpi {

/// How many elements one rank sends to each rank, and expects of each.
struct PairwiseLengths {
  explicit PairwiseLengths(std::size_t ranks) : sent(ranks), expected(ranks) {}

  std::vector<std::uint64_t> sent;
  std::vector<std::uint64_t> expected;
};

/// What `rank` of so many ranks has to say of the operations whose lengths only pairs of ranks know.
[[nodiscard]] PairwiseLengths lengths_of(const detail::GatherCall& call, std::size_t rank, std::size_t ranks);
[[nodiscard]] PairwiseLengths lengths_of(const detail::ScatterCall& call, std::size_t rank, std::size_t ranks);
[[nodiscard]] PairwiseLengths lengths_of(const detail::AlltoallCall& call, std::size_t rank, std::size_t ranks);

/// Exchanges the record of every operation over a communicator of its own, each rank with each other: costly, and able
/// to say who is missing.
class CollectiveChecker {
 public:
  using Duration = std::chrono::nanoseconds;

  /// Collective.
  CollectiveChecker(const ferrompi::Communicator& world, std::optional<Duration> timeout,
                    Duration warn_after = std::chrono::seconds(10));
  /// Collective over `ranks`, which are waited for as long as those of `like`.
  CollectiveChecker(const ferrompi::Communicator& ranks, const CollectiveChecker& like)
      : CollectiveChecker(ranks, like.timeout_, like.warn_after_) {}

  /// Collective. Throws CollectiveMismatch on every rank where the records differ, and TimedOut where a rank does not
  /// come in time, or gave up before this one came. The lowest rank that waits warns of those that are missing, after
  /// `warn_after` and then at doubling intervals.
  void compare(detail::OperationRecord record);

  /// The same, and then the lengths that only pairs of ranks know, where the operation has such.
  template <class Call>
  void compare(const detail::OperationRecord& record, const Call& call) {
    compare(record);
    if constexpr (requires { lengths_of(call, std::size_t{}, std::size_t{}); }) {
      if (detail::has_pairwise_lengths(record.operation)) {
        compare_lengths(record, lengths_of(call, static_cast<std::size_t>(comm_.rank()), records_.size()));
      }
    }
  }

 private:
  void compare_lengths(const detail::OperationRecord& record, const PairwiseLengths& own);
  class Wait;
  void exchange(const detail::OperationRecord& record, int tag, Wait& wait);

  ferrompi::Communicator comm_;
  std::optional<Duration> timeout_;
  Duration warn_after_;
  std::uint64_t sequence_ = 0;
  std::vector<detail::OperationRecord> records_;
};

}  // namespace cobre::comm::mpi
