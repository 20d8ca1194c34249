#include "comm/core/memory_limits.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "support/fake_control_groups.hpp"

namespace {

using cobre::comm::core::available_memory;
using cobre::comm::core::lack_of_memory;

class MemoryLimits : public testing::Test {
 protected:
  MemoryLimits() {
    groups_.write("proc/meminfo", "MemTotal:  8000000 kB\nMemFree: 1 kB\nMemAvailable:    1000 kB\n");
    write("proc/self/cgroup", "0::/job/step\n");
  }

  void write(const std::string& path, const std::string& text) { groups_.write(path, text); }
  std::size_t available() { return available_memory(groups_.proc(), groups_.cgroup()).bytes; }

  FakeControlGroups groups_;
};

TEST_F(MemoryLimits, IsWhatTheMachineHasFreeWhereNoGroupLimitsIt) {
  EXPECT_EQ(available(), 1000U * 1024);
  write("cgroup/job/step/memory.max", "max\n");
  EXPECT_EQ(available(), 1000U * 1024);
}

TEST_F(MemoryLimits, AreNoSmallerForANumberThatNoMachineHas) {
  groups_.write("proc/meminfo", "MemAvailable: 18014398509481985 kB\n");
  EXPECT_GT(available(), std::size_t{1} << 62);
}

TEST_F(MemoryLimits, IsWhatTheGroupHasLeft) {
  write("cgroup/job/step/memory.max", "500000\n");
  write("cgroup/job/step/memory.current", "100000\n");
  EXPECT_EQ(available(), 400000U);
  EXPECT_EQ(available_memory(groups_.proc(), groups_.cgroup()).source, "the memory limit of this container or job");
}

TEST_F(MemoryLimits, HeedsTheTightestAncestor) {
  write("cgroup/job/step/memory.max", "500000\n");
  write("cgroup/job/memory.max", "300000\n");
  write("cgroup/job/memory.current", "250000\n");
  EXPECT_EQ(available(), 50000U);
  write("cgroup/memory.max", "1000\n");
  EXPECT_EQ(available(), 1000U);
}

TEST_F(MemoryLimits, IsNothingWhereMoreIsUsedThanAllowed) {
  write("cgroup/job/memory.max", "1000\n");
  write("cgroup/job/memory.current", "2000\n");
  EXPECT_EQ(available(), 0U);
}

TEST_F(MemoryLimits, ReadsTheFirstVersionOfControlGroups) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/x\n3:hugetlb,memory:/job\n");
  write("cgroup/memory/job/memory.limit_in_bytes", "70000\n");
  write("cgroup/memory/job/memory.usage_in_bytes", "60000\n");
  EXPECT_EQ(available(), 10000U);
}

TEST_F(MemoryLimits, KnowsNoLimitWhereNothingCanBeRead) {
  groups_.remove();
  EXPECT_EQ(available(), std::numeric_limits<std::size_t>::max());
}

TEST(MemoryLimitsOfThisProcess, AreSane) {
  EXPECT_GT(available_memory().bytes, 1024U * 1024U);
  EXPECT_LT(available_memory().bytes, std::size_t{1} << 48);
}

TEST(MemoryLimitsOfThisProcess, SayWhatIsLeftWhereMoreIsWanted) {
  EXPECT_EQ(lack_of_memory(1), std::nullopt);
  const std::string words = lack_of_memory(std::size_t{1} << 48).value_or("");
  EXPECT_TRUE(words.starts_with("the ")) << words;
  EXPECT_TRUE(words.ends_with(" bytes; ask for less, or run where there is more")) << words;
}

}  // namespace
