// Finding out that ranks mean different operations, before MPI hangs over it. Opt-in: COBRE_COMM_CHECK=1.
#pragma once

#include <cobre/comm/detail/calls.hpp>
#include <cobre/comm/detail/operation.hpp>
#include <ferrompi/communicator.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/backends/mpi/family.hpp"

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

  /// Collective over `other`, on which what `purpose` says of `whole` runs: who does not come to the one in time is
  /// looked for in the other.
  static void relate(const std::shared_ptr<CollectiveChecker>& whole, const std::shared_ptr<CollectiveChecker>& other,
                     Purpose purpose);

  /// Collective. Throws CollectiveMismatch on every rank where the records differ, or a rank that does not come in time
  /// is found elsewhere, and TimedOut where it is not, or gave up before this one came. The lowest rank that waits
  /// warns of those that are missing, after `warn_after` and then at doubling intervals.
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

  /// What that rank, of the communicator that this belongs to, has announced here and this one has not begun.
  [[nodiscard]] std::optional<detail::OperationRecord> take_announcement(std::size_t rank, Purpose purpose) const;

 private:
  void compare_lengths(const detail::OperationRecord& record, const PairwiseLengths& own);
  class Wait;
  enum class Stage { Announcing, Confirming };
  void exchange(const detail::OperationRecord& record, Stage stage, Wait& wait);
  /// The family that this belongs to, as what, and which rank of it each rank here is.
  struct Membership {
    std::shared_ptr<Family> family{};
    Purpose purpose = Purpose::Calls;
    std::vector<std::size_t> numbers{};
  };
  /// In the operation that runs.
  [[nodiscard]] const Membership& membership() const;
  /// Time is up: whether some of those that are missing were found elsewhere. Throws that once all of them were, or the
  /// others take long.
  [[nodiscard]] bool are_elsewhere(const detail::OperationRecord& record, const std::vector<std::size_t>& missing,
                                   Family::Records& found, const Wait& wait);

  ferrompi::Communicator comm_;
  std::optional<Duration> timeout_;
  Duration warn_after_;
  std::uint64_t sequence_ = 0;
  std::vector<detail::OperationRecord> records_;
  Membership own_;     // of what is called here
  Membership beside_;  // of what runs here and was called on another communicator
};

}  // namespace cobre::comm::mpi
