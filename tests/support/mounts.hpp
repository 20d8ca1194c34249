// File systems that only one process and its children see; they are gone with the last of them.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <stdexcept>
#include <string>

namespace test {

inline void require(bool worked, const char* what) {
  if (!worked) throw std::runtime_error(std::string("the test cannot make its surroundings: ") + what);
}

/// From here on nothing that this process mounts is seen by others. Needs root.
inline void with_own_mounts() {
  require(unshare(CLONE_NEWNS) == 0, "unshare");
  require(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
}

}  // namespace test
