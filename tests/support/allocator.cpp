#include "support/allocator.hpp"

#include <cstdlib>
#include <new>

namespace test {

constinit thread_local unsigned long allocations = 0;
constinit thread_local std::size_t allocated_bytes = 0;
constinit thread_local std::size_t most_bytes_at_once = SIZE_MAX;
constinit thread_local unsigned long until_one_is_refused = 0;

}  // namespace test

namespace {

void* allocate(std::size_t size, std::size_t unit = 0) noexcept {
  ++test::allocations;
  if (size > test::most_bytes_at_once) return nullptr;
  if (test::until_one_is_refused > 0 && --test::until_one_is_refused == 0) return nullptr;
  test::allocated_bytes += size;
  return unit == 0 ? std::malloc(size) : std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Not inline: a compiler that sees only one of a pair calls the other a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return or_throw(allocate(size));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return or_throw(allocate(size, static_cast<std::size_t>(alignment)));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

// Arrays too: a sanitizer has its own of these, which ask the system and not the ones above.
[[gnu::noinline]] void* operator new[](std::size_t size) {
  return or_throw(allocate(size));
}
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t alignment) {
  return or_throw(allocate(size, static_cast<std::size_t>(alignment)));
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
