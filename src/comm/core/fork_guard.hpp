// Knowing, without a system call, that this process is a forked child of the one that made an object.
#pragma once

#include <cstdint>

namespace cobre::comm::core {

class ForkGuard {
 public:
  ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
  ~ForkGuard();

  [[nodiscard]] bool in_child() const noexcept { return *marker_ == 0; }

 private:
  volatile std::uint32_t* marker_;  // in a page that the kernel clears in children
};

}  // namespace cobre::comm::core
