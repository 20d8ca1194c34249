// Signals as something to read, for a loop that polls.
#pragma once

#include <csignal>
#include <vector>

#include "comm/core/descriptor.hpp"

namespace cobre::command {

class Signals {
 public:
  /// From here on the signals that end, stop or tell a job something are read here instead of doing what they do.
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();

  [[nodiscard]] int descriptor() const noexcept { return source_.get(); }
  /// What has come since.
  [[nodiscard]] std::vector<int> take() const;
  /// The mask from before, for the ranks.
  [[nodiscard]] const sigset_t& original_mask() const noexcept { return before_; }

 private:
  sigset_t before_{};
  comm::core::Descriptor source_;
};

}  // namespace cobre::command
