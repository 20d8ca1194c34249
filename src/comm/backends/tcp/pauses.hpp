// How long to wait before the next attempt.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>

namespace cobre::comm::tcp {

/// Doubled from attempt to attempt, and jittered, so that a thousand ranks do not come in step.
class Pauses {
 public:
  explicit Pauses(std::size_t rank) : draw_(static_cast<unsigned>(rank * 7919 + static_cast<std::size_t>(getpid()))) {}

  [[nodiscard]] std::chrono::steady_clock::duration next() {
    const std::chrono::steady_clock::duration jittered = pause_ / 2 + pause_ * static_cast<int>(draw_() % 1024) / 2048;
    pause_ = std::min(2 * pause_, longest);
    return jittered;
  }

 private:
  static constexpr std::chrono::microseconds longest{200'000};

  std::minstd_rand draw_;
  std::chrono::microseconds pause_{1000};
};

}  // namespace cobre::comm::tcp
