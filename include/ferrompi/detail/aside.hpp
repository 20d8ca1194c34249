// Room for a buffer that a library must not be given where it lies.
#pragma once

#include <cstddef>
#include <memory>

namespace ferrompi::detail {

/// Memory of this thread for one blocking call, at most `aside_bytes` of it: it is there from the first call on.
[[nodiscard]] std::byte* thread_memory_aside();
inline constexpr std::size_t aside_bytes = std::size_t{64} * 1024;

/// `count` elements for as long as a blocking call takes. Beyond what the thread keeps they are allocated: then the
/// message takes longer than the allocation by far.
template <class T>
class Aside {
 public:
  explicit Aside(std::size_t count) {
    if (alignof(T) <= 64 && count <= aside_bytes / sizeof(T)) {
      data_ = reinterpret_cast<T*>(thread_memory_aside());
    } else {
      own_ = std::make_unique_for_overwrite<T[]>(count);
      data_ = own_.get();
    }
  }
  [[nodiscard]] T* data() const noexcept { return data_; }

 private:
  T* data_;
  std::unique_ptr<T[]> own_;
};

}  // namespace ferrompi::detail
