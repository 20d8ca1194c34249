// An allocator for tests that counts, and that can refuse. A program has it by compiling allocator.cpp. What libraries
// take by malloc() alone, as MPI does, is not its business.
#pragma once

#include <cstddef>
#include <cstdint>

namespace test {

/// Of each thread by itself: what others take is not on its path.
extern constinit thread_local unsigned long allocations;
extern constinit thread_local std::size_t allocated_bytes;
extern constinit thread_local std::size_t most_bytes_at_once;
extern constinit thread_local unsigned long until_one_is_refused;  // counted down; 0 where none will be

/// While it lives, this thread gets no more than that at once.
class ShortOfMemory {
 public:
  explicit ShortOfMemory(std::size_t most) { most_bytes_at_once = most; }
  ShortOfMemory(const ShortOfMemory&) = delete;
  ShortOfMemory& operator=(const ShortOfMemory&) = delete;
  ~ShortOfMemory() { most_bytes_at_once = SIZE_MAX; }
};

/// How often `call` allocates.
template <class Call>
unsigned long allocations_of(Call&& call) {
  const unsigned long before = allocations;
  call();
  return allocations - before;
}

}  // namespace test
