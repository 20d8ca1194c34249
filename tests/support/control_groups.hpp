// Control groups of the kernel for processes that are to get by with little.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// Exists where this user may make one (`usable()`), in either version of control groups, until the end of the test.
class ControlGroup {
 public:
  ControlGroup(const ControlGroup&) = delete;
  ControlGroup& operator=(const ControlGroup&) = delete;
  ~ControlGroup() {
    if (usable()) rmdir(folder_.c_str());
  }

  [[nodiscard]] bool usable() const { return !folder_.empty(); }
  /// The calling process, and those that it starts from now on. What it has already is not counted, what it takes from
  /// now on is.
  [[nodiscard]] bool join() const { return write(folder_ / "cgroup.procs", std::to_string(getpid())); }

 protected:
  struct Version {
    const char* root;
    /// Files and what is written there; without the first of them there is no limit.
    std::vector<std::pair<const char*, std::string>> limits;
  };

  explicit ControlGroup(std::initializer_list<Version> versions) {
    for (const Version& version : versions) {
      const auto folder = std::filesystem::path(version.root) / ("cobre-comm-test-" + std::to_string(getpid()));
      std::error_code error;
      if (!std::filesystem::create_directory(folder, error)) continue;
      // Only what the kernel made there can be written: where the limit is no file of its own, nothing is limited.
      const auto& [first, limit] = version.limits.front();
      if (std::filesystem::exists(folder / first) && write(folder / first, limit)) {
        for (const auto& [name, value] : std::span(version.limits).subspan(1)) (void)write(folder / name, value);
        folder_ = folder;
        return;
      }
      std::filesystem::remove(folder, error);
    }
  }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  static bool write(const std::filesystem::path& file, const std::string& value) {
    std::ofstream out(file);
    out << value << std::flush;
    return out.good();
  }

  std::filesystem::path folder_;
};

/// With little memory: the kernel kills who wants more.
class MemoryGroup : public ControlGroup {
 public:
  explicit MemoryGroup(std::size_t bytes)
      : ControlGroup({{"/sys/fs/cgroup/memory",
                       {{"memory.limit_in_bytes", std::to_string(bytes)},
                        {"memory.memsw.limit_in_bytes", std::to_string(bytes)}}},
                      {"/sys/fs/cgroup", {{"memory.max", std::to_string(bytes)}, {"memory.swap.max", "0"}}}}) {}

  /// How many processes the kernel has killed here for want of memory.
  [[nodiscard]] int killed() const {
    for (const char* const events : {"memory.oom_control", "memory.events"}) {
      std::ifstream in(folder() / events);
      for (std::string key; in >> key;) {
        int value = 0;
        in >> value;
        if (key == "oom_kill") return value;
      }
    }
    return 0;
  }
};

/// With a part of one processor.
class CpuGroup : public ControlGroup {
 public:
  explicit CpuGroup(double processors) : CpuGroup(std::to_string(static_cast<int>(processors * period))) {}

 private:
  static constexpr int period = 100'000;

  explicit CpuGroup(const std::string& quota)
      : ControlGroup({{"/sys/fs/cgroup/cpu", {{"cpu.cfs_quota_us", quota}}},
                      {"/sys/fs/cgroup", {{"cpu.max", quota + " " + std::to_string(period)}}}}) {}
};

}  // namespace test
