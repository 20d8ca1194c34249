// A control group with little memory, for a process that is to be killed by the kernel for wanting more.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace test {

/// Exists where this user may make one (`usable()`), in either version of control groups, until the end of the test.
class MemoryGroup {
 public:
  explicit MemoryGroup(std::size_t bytes) {
    struct Version {
      const char* root;
      const char* limit;
      const char* swap;
      const char* events;
    };
    for (const Version version : {Version{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                          "memory.memsw.limit_in_bytes", "memory.oom_control"},
                                  Version{"/sys/fs/cgroup", "memory.max", "memory.swap.max", "memory.events"}}) {
      const auto folder = std::filesystem::path(version.root) / ("cobre-comm-test-" + std::to_string(getpid()));
      std::error_code error;
      if (!std::filesystem::create_directory(folder, error)) continue;
      // Only what the kernel made there can be written: where the limit is no file of its own, nothing is limited.
      if (std::filesystem::exists(folder / version.limit) && write(folder / version.limit, bytes)) {
        (void)write(folder / version.swap, version.swap == std::string("memory.swap.max") ? 0 : bytes);
        folder_ = folder;
        events_ = folder / version.events;
        return;
      }
      std::filesystem::remove(folder, error);
    }
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup() {
    if (usable()) rmdir(folder_.c_str());
  }

  [[nodiscard]] bool usable() const { return !folder_.empty(); }
  /// The calling process. What it has already is not counted, what it takes from now on is.
  [[nodiscard]] bool join() const { return write(folder_ / "cgroup.procs", static_cast<std::size_t>(getpid())); }

  /// How many processes the kernel has killed here for want of memory.
  [[nodiscard]] int killed() const {
    std::ifstream in(events_);
    for (std::string key; in >> key;) {
      int value = 0;
      in >> value;
      if (key == "oom_kill") return value;
    }
    return 0;
  }

 private:
  static bool write(const std::filesystem::path& file, std::size_t value) {
    std::ofstream out(file);
    out << value << std::flush;
    return out.good();
  }

  std::filesystem::path folder_;
  std::filesystem::path events_;
};

}  // namespace test
