#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "comm/core/format.hpp"

namespace cobre::command::bench {
namespace {

std::string duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  return whole < 60 ? comm::core::format("{} s", whole) : comm::core::format("{} min {:02} s", whole / 60, whole % 60);
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void print(const std::string& text) {
  (void)std::fputs(text.c_str(), stderr);
  (void)std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::size_t steps) : steps_(steps), terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_) print("\r\033[K");
}

// A step that was seen before takes as long again; the others as long as the average. Steps come round after round.
double Progress::seconds_left() const {
  if (done_ == 0) return 0;
  double of_a_round = 0;
  for (const auto& [kind, seconds] : expected_) of_a_round += seconds;
  const double average = of_a_round / static_cast<double>(expected_.size());
  return average * static_cast<double>(steps_ - done_);
}

void Progress::begin(const std::string& kind, const std::string& what) {
  kind_ = kind;
  began_ = Clock::now();
  if (!terminal_) return;
  constexpr std::size_t length = 24;
  const std::size_t filled = steps_ == 0 ? length : length * done_ / steps_;
  std::string line =
      comm::core::format("[{}{}] {}/{}", std::string(filled, '#'), std::string(length - filled, '.'), done_, steps_);
  if (done_ > 0) line += comm::core::format("  {} left", duration(seconds_left()));
  line += "  " + what;
  print("\r\033[K" + line.substr(0, terminal_width() - 1));
}

void Progress::end() {
  expected_[kind_] = std::chrono::duration<double>(Clock::now() - began_).count();
  ++done_;
}

void Progress::milestone(const std::string& what) const {
  if (terminal_) return;
  print(comm::core::format("{}: {} of {} steps, about {} left\n", what, done_, steps_, duration(seconds_left())));
}

}  // namespace cobre::command::bench
