// The sanitizers follow the stack pointer, and must be told when it jumps to another stack. Nothing in other builds.
#pragma once

#include <cstddef>

#include "comm/core/sanitizers.hpp"

#ifdef COBRE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef COBRE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace cobre::comm::core {

#if defined(COBRE_ADDRESS_SANITIZER)

/// Of one second stack. `before_enter … after_leave` are called on the side that switches away and on the one that is
/// switched to, in that order.
class StackNotes {
 public:
  StackNotes(const void* begin, std::size_t bytes) noexcept : begin_(begin), bytes_(bytes) {}
  StackNotes(const StackNotes&) = delete;
  StackNotes& operator=(const StackNotes&) = delete;
  ~StackNotes() { __asan_unpoison_memory_region(begin_, bytes_); }

  void before_enter() noexcept { __sanitizer_start_switch_fiber(&resumer_fake_, begin_, bytes_); }
  void entered() noexcept { __sanitizer_finish_switch_fiber(own_fake_, &resumer_begin_, &resumer_bytes_); }
  void before_leave() noexcept { __sanitizer_start_switch_fiber(&own_fake_, resumer_begin_, resumer_bytes_); }
  void left() noexcept { __sanitizer_finish_switch_fiber(resumer_fake_, nullptr, nullptr); }

 private:
  const void* begin_;
  std::size_t bytes_;
  void* own_fake_ = nullptr;
  void* resumer_fake_ = nullptr;
  const void* resumer_begin_ = nullptr;
  std::size_t resumer_bytes_ = 0;
};

#elif defined(COBRE_THREAD_SANITIZER)

class StackNotes {
 public:
  StackNotes(const void*, std::size_t) noexcept : own_(__tsan_create_fiber(0)) {}
  StackNotes(const StackNotes&) = delete;
  StackNotes& operator=(const StackNotes&) = delete;
  ~StackNotes() { __tsan_destroy_fiber(own_); }

  void before_enter() noexcept {
    resumer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own_, 0);
  }
  void entered() noexcept {}
  void before_leave() noexcept { __tsan_switch_to_fiber(resumer_, 0); }
  void left() noexcept {}

 private:
  void* own_;
  void* resumer_ = nullptr;
};

#else

class StackNotes {
 public:
  StackNotes(const void*, std::size_t) noexcept {}
  void before_enter() noexcept {}
  void entered() noexcept {}
  void before_leave() noexcept {}
  void left() noexcept {}
};

#endif

}  // namespace cobre::comm::core
