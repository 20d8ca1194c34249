#include "comm/core/fork_guard.hpp"

#include <sys/mman.h>

#include <new>

namespace cobre::comm::core {
namespace {

constexpr std::size_t page = 4096;

}  // namespace

ForkGuard::ForkGuard() {
  void* const mapped = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  (void)madvise(mapped, page, MADV_WIPEONFORK);
  marker_ = static_cast<volatile std::uint32_t*>(mapped);
  *marker_ = 1;
}

ForkGuard::~ForkGuard() {
  munmap(const_cast<std::uint32_t*>(marker_), page);
}

}  // namespace cobre::comm::core
