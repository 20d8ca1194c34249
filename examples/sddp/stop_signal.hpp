// SIGTERM and SIGINT ask training to end in order: at the end of an iteration, on all ranks, with a checkpoint.
#pragma once

#include <csignal>

namespace sddp {

class StopSignal {
 public:
  StopSignal() {
    struct sigaction action {};
    action.sa_handler = [](int) { arrived = 1; };
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(SIGTERM, &action, nullptr);
    // A second Ctrl-C is from somebody who does not want to wait.
    action.sa_flags |= static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
  }

  [[nodiscard]] bool has_arrived() const noexcept { return arrived != 0; }

 private:
  static inline volatile std::sig_atomic_t arrived = 0;
};

}  // namespace sddp
