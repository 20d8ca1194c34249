#include "comm/core/waiting_cpus.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <limits>
#include <string>
#include <vector>

#include "support/fake_control_groups.hpp"

namespace {

using cobre::comm::core::allowed_cpus;
using cobre::comm::core::cpu_quota;
using cobre::comm::core::move_to_share;

class CpuQuota : public testing::Test {
 protected:
  CpuQuota() { write("proc/self/cgroup", "0::/job/step\n"); }

  void write(const std::string& path, const std::string& text) { groups_.write(path, text); }
  std::size_t quota() { return cpu_quota(groups_.proc(), groups_.cgroup()); }

  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
  FakeControlGroups groups_;
};

TEST_F(CpuQuota, IsUnlimitedWhereNoGroupSaysOtherwise) {
  EXPECT_EQ(quota(), unlimited);
  write("cgroup/job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), unlimited);
}

TEST_F(CpuQuota, IsRoundedUpToWholeCpus) {
  write("cgroup/job/step/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2U);
  write("cgroup/job/step/cpu.max", "200001 100000\n");
  EXPECT_EQ(quota(), 3U);
  write("cgroup/job/step/cpu.max", "1000 100000\n");
  EXPECT_EQ(quota(), 1U);
}

TEST_F(CpuQuota, IsUnlimitedWhereItIsMoreThanAnyMachineHas) {
  write("cgroup/job/step/cpu.max", "102400000 100000\n");
  EXPECT_EQ(quota(), 1024U);
  for (const char* const text : {"102400001 100000\n", "9223372036854775807 1\n", "1e300 1e-300\n"}) {
    write("cgroup/job/step/cpu.max", text);
    EXPECT_EQ(quota(), unlimited) << text;
  }
}

TEST_F(CpuQuota, HeedsTheTightestAncestor) {
  write("cgroup/job/step/cpu.max", "800000 100000\n");
  write("cgroup/job/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3U);
}

TEST_F(CpuQuota, ReadsTheFirstVersionOfControlGroups) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/job\n3:memory:/other\n");  // systems link cpu to cpu,cpuacct
  write("cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  write("cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 2U);
  write("cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota(), unlimited);
}

TEST_F(CpuQuota, IsUnlimitedWhereNothingCanBeRead) {
  groups_.remove();
  EXPECT_EQ(quota(), unlimited);
}

std::vector<int> own_cpus() {
  const auto mask = allowed_cpus();
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    const auto number = static_cast<std::size_t>(cpu);
    if ((mask[number / 64] >> (number % 64) & 1) != 0) cpus.push_back(cpu);
  }
  return cpus;
}

// The kernel may move a thread on at once, but not again and again.
bool comes_to(int cpu, std::size_t place, std::size_t ranks) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    move_to_share(place, ranks);
    if (sched_getcpu() == cpu) return true;
  }
  return false;
}

TEST(MovingToAShareOfTheCpus, GivesEachTheSameNumberOfRanksInOrder) {
  const auto cpus = own_cpus();
  const std::size_t ranks = 3 * cpus.size();
  for (std::size_t place = 0; place < ranks; ++place) EXPECT_TRUE(comes_to(cpus[place / 3], place, ranks)) << place;
}

TEST(MovingToAShareOfTheCpus, LeavesTheThreadFreeToGoElsewhere) {
  const auto before = allowed_cpus();
  move_to_share(1, 2);
  EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
