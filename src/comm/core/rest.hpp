// Between two looks at something that does not move: the longer it does not, the longer.
#pragma once

#include <chrono>
#include <thread>

namespace cobre::comm::core {

class Rest {
 public:
  void take() {
    using namespace std::chrono_literals;
    const auto waited = std::chrono::steady_clock::now() - begin_;
    if (waited < 1ms) return std::this_thread::yield();
    std::this_thread::sleep_for(waited < 100ms ? 50us : 1000us);
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace cobre::comm::core
