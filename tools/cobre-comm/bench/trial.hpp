// One program run to its end, with what it printed. Ctrl-C and a deadline end it before.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "run/signals.hpp"

namespace cobre::command::bench {

struct Trial {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value", on top of our own
  std::chrono::milliseconds limit{60'000};
};

struct Outcome {
  std::string output;
  std::string problem;  // why it failed, in a line; empty where it did not
};

/// Runs trials, one after another. While it lives, Ctrl-C and its like are read here.
class Stage {
 public:
  [[nodiscard]] Outcome run(const Trial& trial);
  /// Somebody wants to end all this. Stays so.
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

 private:
  void heed_signals();

  Signals signals_;
  bool interrupted_ = false;
};

}  // namespace cobre::command::bench
