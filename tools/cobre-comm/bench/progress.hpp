// How far it is, and how long it will take: a bar that redraws itself on a terminal, a line an operation elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace cobre::command::bench {

class Progress {
 public:
  explicit Progress(std::size_t steps);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// The next step begins. `kind` names those that take equally long, `what` is for the reader.
  void begin(const std::string& kind, const std::string& what);
  void end();
  /// Where nothing redraws itself, this is what tells that something goes on.
  void milestone(const std::string& what) const;

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] double seconds_left() const;

  std::size_t steps_;
  std::size_t done_ = 0;
  bool terminal_;
  std::string kind_;
  Clock::time_point began_;
  std::map<std::string, double> expected_;  // of each kind that was seen
};

}  // namespace cobre::command::bench
