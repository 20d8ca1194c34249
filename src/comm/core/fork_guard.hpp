// Knowing, without a system call, that this process is a forked child of the one that made an object; and not keeping
// alive in such a child what the parent's death should end.
#pragma once

#include <cobre/comm/errors.hpp>

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

/// InvalidCommunicator: a child was about to use what its parent made.
[[noreturn, gnu::cold]] void throw_in_child(const Where& where);

/// The socket is closed in children that are forked from now on. Otherwise peers would not see the death of this
/// process for as long as a child of it lives. The descriptor stays taken there, so that closing it again does no harm.
void close_in_children(int socket) noexcept;

}  // namespace cobre::comm::core
