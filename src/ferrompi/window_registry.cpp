#include "ferrompi/window_registry.hpp"

#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/window/state.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace ferrompi::detail {

namespace {

struct OpenWindows {
  std::mutex mutex;  // windows of different threads come and go at once
  std::vector<WindowState*> list;
  bool freed_at_finalize = false;
};

// Never destroyed: windows may be static objects.
OpenWindows& open_windows() {
  static auto* instance = new OpenWindows;
  return *instance;
}

// Making a window is collective, so the order in which they were made leaves no rank waiting in a circle.
void free_all() {
  auto& open = open_windows();
  std::vector<WindowState*> left;
  {
    const std::lock_guard lock(open.mutex);
    left = std::exchange(open.list, {});
  }
  for (auto* window : left) window->close(UnwindingDetector());
}

}  // namespace

void remember_open_window(WindowState& window) {
  auto& open = open_windows();
  const std::lock_guard lock(open.mutex);
  if (!open.freed_at_finalize) {
    run_at_finalize(free_all);
    open.freed_at_finalize = true;
  }
  open.list.push_back(&window);
}

void forget_open_window(WindowState& window) noexcept {
  auto& open = open_windows();
  const std::lock_guard lock(open.mutex);
  std::erase(open.list, &window);
}

}  // namespace ferrompi::detail
