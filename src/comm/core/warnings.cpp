#include "comm/core/warnings.hpp"

#include <cobre/comm/warnings.hpp>

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

namespace cobre::comm {
namespace {

struct Sink {
  std::mutex mutex;
  WarningSink function;
};

// Never destroyed: a warning may come from a thread that outlives main().
Sink& sink() {
  static auto* const instance = new Sink;
  return *instance;
}

}  // namespace

void set_warning_sink(WarningSink function) {
  const std::lock_guard lock(sink().mutex);
  sink().function = std::move(function);
}

void core::warn(std::string_view line) noexcept try {
  const std::lock_guard lock(sink().mutex);
  if (sink().function) return sink().function(line);
  // One write, so that lines of several ranks do not mix.
  const std::string text = "cobre-comm: warning: " + std::string(line) + "\n";
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
} catch (...) {  // NOLINT(bugprone-empty-catch): see the header
}

}  // namespace cobre::comm
