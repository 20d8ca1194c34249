// Who cleans up when the launcher itself is killed.
#pragma once

#include <sys/types.h>

#include "comm/core/descriptor.hpp"

namespace cobre::command {

/// A process that does nothing but wait for the launcher to die, and then kills the process groups of the ranks. The
/// kernel kills the ranks by itself in that case (PR_SET_PDEATHSIG), but not what the ranks have started: shells,
/// debuggers, wrappers.
class Keeper {
 public:
  Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  /// All groups are gone: sends it home.
  ~Keeper();

  void watch(pid_t group) const;

 private:
  comm::core::Descriptor line_;  // the keeper has the other end; our death closes this one
  pid_t pid_ = -1;
};

}  // namespace cobre::command
