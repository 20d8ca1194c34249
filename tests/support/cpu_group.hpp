// A control group with a part of one processor, for ranks that have to get by with that.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace test {

/// Exists where this user may make one (`usable()`), in either version of control groups, until the end of the test.
class CpuGroup {
 public:
  explicit CpuGroup(double processors) {
    constexpr int period = 100'000;
    const std::string quota = std::to_string(static_cast<int>(processors * period));
    struct Version {
      const char* root;
      const char* limit;
      std::string value;
    };
    for (const Version& version : {Version{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", quota},
                                   Version{"/sys/fs/cgroup", "cpu.max", quota + " " + std::to_string(period)}}) {
      const auto folder = std::filesystem::path(version.root) / ("cobre-comm-test-" + std::to_string(getpid()));
      std::error_code error;
      if (!std::filesystem::create_directory(folder, error)) continue;
      // Only what the kernel made there can be written: where the limit is no file of its own, nothing is limited.
      if (std::filesystem::exists(folder / version.limit) && write(folder / version.limit, version.value)) {
        folder_ = folder;
        return;
      }
      std::filesystem::remove(folder, error);
    }
  }
  CpuGroup(const CpuGroup&) = delete;
  CpuGroup& operator=(const CpuGroup&) = delete;
  ~CpuGroup() {
    if (usable()) rmdir(folder_.c_str());
  }

  [[nodiscard]] bool usable() const { return !folder_.empty(); }
  /// The calling process, and those that it starts from now on.
  [[nodiscard]] bool join() const { return write(folder_ / "cgroup.procs", std::to_string(getpid())); }

 private:
  static bool write(const std::filesystem::path& file, const std::string& value) {
    std::ofstream out(file);
    out << value << std::flush;
    return out.good();
  }

  std::filesystem::path folder_;
};

}  // namespace test
