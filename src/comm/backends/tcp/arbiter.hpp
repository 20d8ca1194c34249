// Who judges: the root of the control tree, or of what is left of it. Asks everyone where they are, and finds out from
// the answers whether ranks disagree, who is missing, and whether there is reason to worry at all. Knows no sockets.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/backends/tcp/notices.hpp"
#include "comm/core/disagreement.hpp"

namespace cobre::comm::tcp {

class Arbiter {
 public:
  /// `rank`: whose it is. Roll calls of different ranks have different numbers.
  /// `hosts`: who shares memory with whom, by rank, as some number for each host; none where nobody does.
  explicit Arbiter(std::size_t size, std::size_t rank = 0, std::vector<std::size_t> hosts = {})
      : size_(size), hosts_(std::move(hosts)), testimonies_(size), number_(std::uint64_t{rank} << bits_of_number) {}

  /// Who held that roll call.
  [[nodiscard]] static std::size_t caller(std::uint64_t number) noexcept {
    return static_cast<std::size_t>(number >> bits_of_number);
  }

  /// Something is to be found out.
  void ask(const Inquiry& inquiry, Clock::time_point now);
  void hear(const Testimony& testimony);
  /// Somebody else is to find it out: what was asked and heard here is old by the time that this rank has to judge
  /// again.
  void dismiss() noexcept;

  /// What follows from what was said until now.
  struct Ruling {
    std::optional<RollCall> call;    // everyone shall answer this
    std::optional<Verdict> verdict;  // it is over
    std::vector<Warning> warnings;
  };
  /// The control tree as it is now, without those who have left.
  struct Tree {
    std::function<bool(std::size_t)> expects;  // whether that rank can be expected to answer
    std::function<std::optional<std::size_t>(std::size_t)> parent_of;
    std::optional<std::size_t> silent;  // who does not answer, and keeps this rank from asking the rest
  };
  [[nodiscard]] Ruling rule(Clock::time_point now, const Tree& tree);

  /// When to rule again, if nothing else happens before.
  [[nodiscard]] std::optional<Clock::time_point> next() const noexcept { return next_; }

 private:
  static constexpr int bits_of_number = 40;

  [[nodiscard]] bool answered(std::size_t rank) const noexcept { return testimonies_[rank].call == number_; }
  [[nodiscard]] std::optional<detail::OperationRecord> record(std::size_t rank, std::uint64_t sequence) const;
  [[nodiscard]] std::optional<std::uint64_t> first_difference() const;
  /// The first operation that a rank has not come to which is in a fence that its neighbour, who is in that operation,
  /// does not join.
  [[nodiscard]] std::optional<std::uint64_t> first_missed_for_a_fence() const;
  [[nodiscard]] std::optional<detail::OperationRecord> fence_instead_of(std::uint64_t sequence, std::size_t rank) const;
  [[nodiscard]] bool has_come_to(std::uint64_t sequence, std::size_t rank) const {
    return testimonies_[rank].entered >= sequence || fence_instead_of(sequence, rank);
  }
  [[nodiscard]] Verdict mismatch(std::uint64_t sequence) const;
  [[nodiscard]] static Verdict mismatch(const core::Disagreement& disagreement);
  /// Ranks that began requests and calls that wait in another order.
  [[nodiscard]] std::optional<core::Disagreement> crossing() const;
  [[nodiscard]] std::optional<Verdict> timeout(const Inquiry& inquiry, const Tree& tree) const;
  [[nodiscard]] std::optional<Warning> warning(const Inquiry& inquiry, const Tree& tree) const;
  [[nodiscard]] std::string situation(const Tree& tree) const;
  [[nodiscard]] bool stands_behind_silence(std::size_t rank, const Tree& tree) const;

  std::size_t size_;
  std::vector<std::size_t> hosts_;
  std::vector<Testimony> testimonies_;  // by rank; of the last call, or older
  std::vector<Inquiry> inquiries_;
  std::uint64_t number_;  // of the roll call under way
  bool calling_ = false;
  Clock::time_point called_{};
  std::optional<Clock::time_point> disagreement_seen_;
  std::optional<Clock::time_point> next_;
};

}  // namespace cobre::comm::tcp
