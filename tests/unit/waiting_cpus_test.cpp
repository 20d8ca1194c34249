#include "comm/core/waiting_cpus.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "unit/control_groups.hpp"

namespace {

using cobre::comm::core::cpu_quota;

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

}  // namespace
