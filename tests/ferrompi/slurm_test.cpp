// The Slurm helpers need no job: a test writes the environment that a job would have.
#include <ferrompi/slurm.hpp>

#include <gtest/gtest.h>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace slurm = ferrompi::slurm;

namespace {

/// Hides the real job, if the tests themselves run in one, and puts everything back.
class Slurm : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : names) {
      const char* value = std::getenv(name);
      before_.push_back(value != nullptr ? std::optional<std::string>(value) : std::nullopt);
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (std::size_t i = 0; i < std::size(names); ++i) {
      if (before_[i]) {
        setenv(names[i], before_[i]->c_str(), 1);
      } else {
        unsetenv(names[i]);
      }
    }
  }
  static void set(const char* name, const char* value) { setenv(name, value, 1); }

 private:
  static constexpr const char* names[] = {
      "SLURM_JOB_ID",          "SLURM_JOBID",          "SLURM_JOB_NAME",      "SLURM_STEP_ID",
      "SLURM_STEPID",          "SLURM_PROCID",         "SLURM_LOCALID",       "SLURM_NODEID",
      "SLURM_STEP_NUM_TASKS",  "SLURM_NTASKS",         "SLURM_NPROCS",        "SLURM_STEP_TASKS_PER_NODE",
      "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_JOB_NUM_NODES", "SLURM_NNODES",
      "SLURM_STEP_NUM_NODES",  "SLURM_CPUS_PER_TASK",  "SLURM_CPUS_ON_NODE",  "SLURM_MEM_PER_NODE",
      "SLURM_MEM_PER_CPU",     "SLURM_NODENAME",       "SLURMD_NODENAME",     "SLURM_JOB_NODELIST",
      "SLURM_NODELIST",        "SLURM_STEP_NODELIST"};
  std::vector<std::optional<std::string>> before_;
};

TEST_F(Slurm, SaysNothingOutsideOfAJob) {
  EXPECT_FALSE(slurm::is_slurm_job());
  EXPECT_EQ(slurm::job_id(), std::nullopt);
  EXPECT_EQ(slurm::job_name(), std::nullopt);
  EXPECT_EQ(slurm::step_id(), std::nullopt);
  EXPECT_EQ(slurm::process_id(), std::nullopt);
  EXPECT_EQ(slurm::local_rank(), std::nullopt);
  EXPECT_EQ(slurm::local_size(), std::nullopt);
  EXPECT_EQ(slurm::node_id(), std::nullopt);
  EXPECT_EQ(slurm::num_tasks(), std::nullopt);
  EXPECT_EQ(slurm::step_num_tasks(), std::nullopt);
  EXPECT_EQ(slurm::num_nodes(), std::nullopt);
  EXPECT_EQ(slurm::step_num_nodes(), std::nullopt);
  EXPECT_EQ(slurm::cpus_per_task(), std::nullopt);
  EXPECT_EQ(slurm::cpus_on_node(), std::nullopt);
  EXPECT_EQ(slurm::memory_per_node_mb(), std::nullopt);
  EXPECT_EQ(slurm::memory_per_cpu_mb(), std::nullopt);
  EXPECT_EQ(slurm::node_name(), std::nullopt);
  EXPECT_EQ(slurm::node_list(), std::nullopt);
  EXPECT_EQ(slurm::step_node_list(), std::nullopt);
}

TEST_F(Slurm, ReadsEveryVariableOfAStep) {
  set("SLURM_JOB_ID", "4711");
  set("SLURM_JOB_NAME", "dispatch");
  set("SLURM_STEP_ID", "0");
  set("SLURM_PROCID", "5");
  set("SLURM_LOCALID", "1");
  set("SLURM_NODEID", "1");
  set("SLURM_STEP_NUM_TASKS", "7");
  set("SLURM_STEP_TASKS_PER_NODE", "4,3");
  set("SLURM_JOB_NUM_NODES", "2");
  set("SLURM_STEP_NUM_NODES", "2");
  set("SLURM_CPUS_PER_TASK", "6");
  set("SLURM_CPUS_ON_NODE", "24");
  set("SLURM_MEM_PER_NODE", "64000");
  set("SLURM_MEM_PER_CPU", "2000");
  set("SLURMD_NODENAME", "n2");
  set("SLURM_JOB_NODELIST", "n[1-2]");
  set("SLURM_STEP_NODELIST", "n[1-2]");
  EXPECT_TRUE(slurm::is_slurm_job());
  EXPECT_EQ(slurm::job_id(), "4711");
  EXPECT_EQ(slurm::job_name(), "dispatch");
  EXPECT_EQ(slurm::step_id(), "0");
  EXPECT_EQ(slurm::process_id(), 5);
  EXPECT_EQ(slurm::local_rank(), 1);
  EXPECT_EQ(slurm::node_id(), 1);
  EXPECT_EQ(slurm::step_num_tasks(), 7);
  EXPECT_EQ(slurm::num_tasks(), 7);
  EXPECT_EQ(slurm::local_size(), 3);
  EXPECT_EQ(slurm::num_nodes(), 2);
  EXPECT_EQ(slurm::step_num_nodes(), 2);
  EXPECT_EQ(slurm::cpus_per_task(), 6);
  EXPECT_EQ(slurm::cpus_on_node(), 24);
  EXPECT_EQ(slurm::memory_per_node_mb(), 64000u);
  EXPECT_EQ(slurm::memory_per_cpu_mb(), 2000u);
  EXPECT_EQ(slurm::node_name(), "n2");
  EXPECT_EQ(slurm::node_list(), "n[1-2]");
  EXPECT_EQ(slurm::step_node_list(), "n[1-2]");
}

TEST_F(Slurm, UnderstandsTheOldNames) {
  set("SLURM_JOBID", "12");
  set("SLURM_STEPID", "3");
  set("SLURM_NPROCS", "8");
  set("SLURM_NNODES", "4");
  set("SLURM_NODELIST", "old[0-3]");
  EXPECT_TRUE(slurm::is_slurm_job());
  EXPECT_EQ(slurm::job_id(), "12");
  EXPECT_EQ(slurm::step_id(), "3");
  EXPECT_EQ(slurm::num_tasks(), 8);
  EXPECT_EQ(slurm::num_nodes(), 4);
  EXPECT_EQ(slurm::node_list(), "old[0-3]");
}

TEST_F(Slurm, PrefersTheNewNames) {
  set("SLURM_JOB_ID", "13");
  set("SLURM_JOBID", "12");
  set("SLURM_JOB_NUM_NODES", "5");
  set("SLURM_NNODES", "4");
  set("SLURM_JOB_NODELIST", "new[0-4]");
  set("SLURM_NODELIST", "old[0-3]");
  set("SLURM_STEP_NUM_TASKS", "2");
  set("SLURM_NTASKS", "9");
  set("SLURM_NPROCS", "10");
  set("SLURM_NODENAME", "n1");
  set("SLURMD_NODENAME", "n2");
  EXPECT_EQ(slurm::job_id(), "13");
  EXPECT_EQ(slurm::num_nodes(), 5);
  EXPECT_EQ(slurm::node_list(), "new[0-4]");
  EXPECT_EQ(slurm::num_tasks(), 2);
  EXPECT_EQ(slurm::node_name(), "n1");
  unsetenv("SLURM_STEP_NUM_TASKS");
  EXPECT_EQ(slurm::num_tasks(), 9);
}

TEST_F(Slurm, FallsBackToTheOldNameWhereTheNewOneIsGarbage) {
  set("SLURM_JOB_NUM_NODES", "two");
  set("SLURM_NNODES", "2");
  set("SLURM_JOB_NODELIST", "");
  set("SLURM_NODELIST", "n[1-2]");
  EXPECT_EQ(slurm::num_nodes(), 2);
  EXPECT_EQ(slurm::node_list(), "n[1-2]");
}

TEST_F(Slurm, RefusesWhatIsNoPlainNumber) {
  for (const char* text :
       {"", " ", " 4", "4 ", "+4", "-4", "4.0", "0x4", "four", "4x", "2147483648", "99999999999999"}) {
    set("SLURM_LOCALID", text);
    EXPECT_EQ(slurm::local_rank(), std::nullopt) << '"' << text << '"';
  }
  set("SLURM_LOCALID", "2147483647");
  EXPECT_EQ(slurm::local_rank(), 2147483647);
  set("SLURM_MEM_PER_NODE", "18446744073709551616");
  EXPECT_EQ(slurm::memory_per_node_mb(), std::nullopt);
}

TEST_F(Slurm, KeepsZeroMemoryApartFromNoAnswer) {
  set("SLURM_MEM_PER_NODE", "0");
  EXPECT_EQ(slurm::memory_per_node_mb(), 0u);
}

TEST_F(Slurm, FindsTheTasksOfItsOwnNodeInAFoldedList) {
  set("SLURM_TASKS_PER_NODE", "4(x2),3");
  set("SLURM_NODEID", "0");
  EXPECT_EQ(slurm::local_size(), 4);
  set("SLURM_NODEID", "1");
  EXPECT_EQ(slurm::local_size(), 4);
  set("SLURM_NODEID", "2");
  EXPECT_EQ(slurm::local_size(), 3);
  set("SLURM_NODEID", "3");
  EXPECT_EQ(slurm::local_size(), std::nullopt) << "the list has no fourth node";
}

TEST_F(Slurm, NeedsNoNodeNumberWhereAllNodesHoldTheSame) {
  set("SLURM_TASKS_PER_NODE", "4(x2)");
  EXPECT_EQ(slurm::local_size(), 4);
  set("SLURM_TASKS_PER_NODE", "4,4(x3)");
  EXPECT_EQ(slurm::local_size(), 4);
  set("SLURM_TASKS_PER_NODE", "4(x2),3");
  EXPECT_EQ(slurm::local_size(), std::nullopt);
}

TEST_F(Slurm, TrustsTheStepBeforeTheRequestBeforeThePlan) {
  set("SLURM_NODEID", "1");
  set("SLURM_TASKS_PER_NODE", "5(x2)");
  EXPECT_EQ(slurm::local_size(), 5);
  set("SLURM_NTASKS_PER_NODE", "4");
  EXPECT_EQ(slurm::local_size(), 4);
  set("SLURM_STEP_TASKS_PER_NODE", "4,3");
  EXPECT_EQ(slurm::local_size(), 3);
}

TEST_F(Slurm, IgnoresAGarbledListAndAsksTheNextVariable) {
  set("SLURM_STEP_TASKS_PER_NODE", "4(y2)");
  set("SLURM_NTASKS_PER_NODE", "many");
  set("SLURM_TASKS_PER_NODE", "2(x3)");
  EXPECT_EQ(slurm::local_size(), 2);
}

TEST(SlurmList, RefusesEveryMalformedItem) {
  for (const char* list : {"", ",", "4,", ",4", "4,,3", "4(x)", "4(x0)", "4(2)", "4(x2", "4x2)", "(x2)", "4(x2)3",
                           "4(x-1)", "4(xx2)", "a", "4 ,3", "4(x2),b", "4(x99999999999999999999)"}) {
    EXPECT_EQ(slurm::value_for_node(list, 0), std::nullopt) << '"' << list << '"';
    EXPECT_EQ(slurm::value_for_node(list, std::nullopt), std::nullopt) << '"' << list << '"';
  }
}

TEST(SlurmList, SurvivesCountsThatOverflowWhenAdded) {
  EXPECT_EQ(slurm::value_for_node("1(x9223372036854775807),2(x9223372036854775807),3", 7), 1);
}

static_assert(slurm::value_for_node("4(x2),3", 2) == 3, "usable in constant expressions");

}  // namespace
