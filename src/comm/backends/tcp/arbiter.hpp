// Who judges: the root of the control tree, or of what is left of it. Asks everyone where they are, and finds out from
// the answers whether ranks disagree, who is missing, and whether there is reason to worry at all. Knows no sockets.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/backends/tcp/notices.hpp"

namespace cobre::comm::tcp {

class Arbiter {
 public:
  explicit Arbiter(std::size_t size) : size_(size), testimonies_(size) {}

  /// Something is to be found out.
  void ask(const Inquiry& inquiry, Clock::time_point now);
  void hear(const Testimony& testimony);

  /// What follows from what was said until now.
  struct Ruling {
    std::optional<RollCall> call;    // everyone shall answer this
    std::optional<Verdict> verdict;  // it is over
    std::vector<Warning> warnings;
  };
  /// `expects(rank)`: whether that rank can be expected to answer.
  [[nodiscard]] Ruling rule(Clock::time_point now, const std::function<bool(std::size_t)>& expects);

  /// When to rule again, if nothing else happens before.
  [[nodiscard]] std::optional<Clock::time_point> next() const noexcept { return next_; }

 private:
  [[nodiscard]] bool answered(std::size_t rank) const noexcept { return testimonies_[rank].call == number_; }
  [[nodiscard]] std::optional<detail::OperationRecord> record(std::size_t rank, std::uint64_t sequence) const;
  [[nodiscard]] std::optional<std::uint64_t> first_difference() const;
  [[nodiscard]] Verdict mismatch(std::uint64_t sequence) const;
  [[nodiscard]] std::optional<Verdict> timeout(const Inquiry& inquiry,
                                               const std::function<bool(std::size_t)>& expects) const;
  [[nodiscard]] std::optional<Warning> warning(const Inquiry& inquiry) const;
  [[nodiscard]] std::string situation() const;

  std::size_t size_;
  std::vector<Testimony> testimonies_;  // by rank; of the last call, or older
  std::vector<Inquiry> inquiries_;
  std::uint64_t number_ = 0;  // of the roll call under way
  bool calling_ = false;
  Clock::time_point called_{};
  std::optional<Clock::time_point> disagreement_seen_;
  std::optional<Clock::time_point> next_;
};

}  // namespace cobre::comm::tcp
