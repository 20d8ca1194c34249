#include <ferrompi/topology.hpp>

#include <ferrompi/error.hpp>

#include "ferrompi/mpi_main.hpp"
#include "ferrompi/topology_exchange.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

using namespace ferrompi;

namespace {

detail::LocalFacts facts_of(std::string host) {
  detail::LocalFacts facts;
  facts.hostname = std::move(host);
  facts.library_version = "Example MPI 1.2";
  facts.standard_version = "MPI 3.1";
  facts.thread_level = ThreadLevel::Serialized;
  return facts;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Planted below the library: MPI does not tell this rank where it runs.
bool nameless = false;

}  // namespace

extern "C" int MPI_Get_processor_name(char* name, int* length) {
  return nameless ? MPI_ERR_INTERN : PMPI_Get_processor_name(name, length);
}

namespace {

TEST(Topology, ListsEveryRankOnThisMachine) {
  const auto world = test_mpi().world();
  const auto topology = world.topology();
  EXPECT_EQ(topology.size(), world.size());
  ASSERT_EQ(topology.num_hosts(), 1u) << topology;
  ASSERT_EQ(topology.hosts().size(), 1u);
  EXPECT_EQ(topology.hosts()[0].hostname, world.processor_name());
  ASSERT_EQ(static_cast<int>(topology.hosts()[0].ranks.size()), world.size());
  for (int rank = 0; rank < world.size(); ++rank) {
    EXPECT_EQ(topology.hosts()[0].ranks[static_cast<std::size_t>(rank)], rank);
  }
}

TEST(Topology, SaysTheWholeVersionOfTheLibrary) {
  const auto topology = test_mpi().world().topology();
  EXPECT_EQ(topology.library_version(), Mpi::library_version());
  EXPECT_EQ(topology.standard_version(), Mpi::version());
  EXPECT_EQ(topology.thread_level(), test_mpi().thread_level());
}

// The variables of a job that the tests may themselves run in are put back.
TEST(Topology, TellsTheSlurmJobOfRankZero) {
  const auto world = test_mpi().world();
  constexpr const char* names[] = {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST", "SLURM_NODELIST",
                                   "SLURM_CPUS_PER_TASK"};
  std::vector<std::optional<std::string>> before;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    before.push_back(value != nullptr ? std::optional<std::string>(value) : std::nullopt);
    unsetenv(name);
  }
  EXPECT_FALSE(world.topology().slurm().has_value());
  if (world.rank() == 0) {
    setenv("SLURM_JOB_ID", "4711", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
    setenv("SLURM_CPUS_PER_TASK", "6", 1);
  }
  const auto slurm = world.topology().slurm();
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (before[i]) {
      setenv(names[i], before[i]->c_str(), 1);
    } else {
      unsetenv(names[i]);
    }
  }
  ASSERT_TRUE(slurm.has_value());
  EXPECT_EQ(*slurm, (SlurmInfo{"4711", "n[1-2]", 6}));
}

TEST(Topology, OrdersHostsByTheirLowestRank) {
  const auto world = test_mpi().world();
  // Odd ranks on "odd", even ranks on "even": rank 0 makes "even" the first.
  const auto topology = detail::exchange_topology(world, facts_of(world.rank() % 2 == 0 ? "even" : "odd"));
  ASSERT_EQ(topology.num_hosts(), world.size() == 1 ? 1u : 2u);
  EXPECT_EQ(topology.hosts()[0].hostname, "even");
  for (std::size_t host = 0; host < topology.num_hosts(); ++host) {
    int expected = static_cast<int>(host);
    for (const int rank : topology.hosts()[host].ranks) {
      EXPECT_EQ(rank, expected);
      expected += 2;
    }
  }
  EXPECT_EQ(topology.size(), world.size());
}

TEST(Topology, CutsNoLongText) {
  const auto world = test_mpi().world();
  auto facts = facts_of(std::string(1000, 'h') + std::to_string(world.rank()));
  facts.library_version = std::string(20000, 'v');
  facts.slurm = SlurmInfo{"1", std::string(5000, 'n'), 4};
  const auto topology = detail::exchange_topology(world, facts);
  ASSERT_EQ(static_cast<int>(topology.num_hosts()), world.size());
  EXPECT_EQ(topology.hosts().back().hostname, std::string(1000, 'h') + std::to_string(world.size() - 1));
  EXPECT_EQ(topology.library_version().size(), 20000u);
  EXPECT_EQ(topology.slurm()->node_list->size(), 5000u);
}

TEST(Topology, FailsOnEveryRankWhenOneCannotTell) {
  const auto world = test_mpi().world();
  const int broken = world.size() - 1;
  auto facts = facts_of("host");
  if (world.rank() == broken) facts.failure = "the name is not to be had";
  try {
    (void)detail::exchange_topology(world, facts);
    FAIL() << "rank " << broken << " failed and nobody noticed";
  } catch (const InternalError& error) {
    EXPECT_EQ(error.operation(), "topology");
    EXPECT_TRUE(contains(error.what(), "rank " + std::to_string(broken))) << error.what();
    EXPECT_TRUE(contains(error.what(), "the name is not to be had")) << error.what();
  }
  // The communicator is as good as before.
  EXPECT_EQ(detail::exchange_topology(world, facts_of("host")).size(), world.size());
}

TEST(Topology, FailsOnEveryRankWhenMpiDoesNotTellOneOfThemItsName) {
  const auto world = test_mpi().world();
  const int broken = world.size() - 1;
  nameless = world.rank() == broken;
  try {
    (void)world.topology();
    FAIL() << "rank " << broken << " has no name and nobody noticed";
  } catch (const InternalError& error) {
    EXPECT_TRUE(contains(error.what(), "rank " + std::to_string(broken) + " cannot tell where it runs: "))
        << error.what();
    EXPECT_TRUE(contains(error.what(), "MPI error in topology: ")) << error.what();
    EXPECT_TRUE(contains(error.what(), "class=ERR_INTERN")) << error.what();
  }
  nameless = false;
  EXPECT_EQ(world.topology().size(), world.size());
}

TEST(Topology, IsTheSameOnEveryRankWhateverEachKnows) {
  const auto world = test_mpi().world();
  auto facts = facts_of("host");
  facts.thread_level = world.rank() == world.size() - 1 ? ThreadLevel::Funneled : ThreadLevel::Multiple;
  if (world.rank() == 0) facts.slurm = SlurmInfo{"77", std::nullopt, std::nullopt};
  if (world.rank() == 1) facts.slurm = SlurmInfo{"78", "n[1-9]", 2};
  const auto topology = detail::exchange_topology(world, facts);
  EXPECT_EQ(topology.thread_level(), ThreadLevel::Funneled);
  ASSERT_TRUE(topology.slurm().has_value());
  EXPECT_EQ(*topology.slurm(), (SlurmInfo{"77", std::nullopt, std::nullopt}));
}

TEST(Topology, NamesTheLibraryInShort) {
  const auto name_of = [](const char* version) {
    return TopologyInfo({{"alpha", {0}}}, version, "MPI 3.1", ThreadLevel::Single).library_name();
  };
  EXPECT_EQ(name_of("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "Open MPI v4.1.4");
  EXPECT_EQ(name_of("MPICH Version:\t4.0.2\nMPICH Release date:\tthen"), "MPICH 4.0.2");
  EXPECT_EQ(name_of("MPICH Version:"), "MPICH");
  EXPECT_EQ(name_of("Example MPI 1.2"), "Example MPI 1.2");
}

TEST(Topology, ReportsOneProcessInTheSingular) {
  const TopologyInfo topology({{"alpha", {0}}}, "Example MPI 1.2", "MPI 3.1", ThreadLevel::Single);
  EXPECT_EQ(to_string(topology),
            "========================= MPI Topology =========================\n"
            "Library:    Example MPI 1.2\n"
            "Standard:   MPI 3.1\n"
            "Threads:    Single\n"
            "Processes:  1 across 1 node\n"
            "\n"
            "  alpha: rank 0  (1 process)\n"
            "================================================================");
}

TEST(Topology, ReportsHostsAndTheSlurmJob) {
  const TopologyInfo topology({{"n1", {0, 1}}, {"n2", {2, 3, 4, 7}}}, "MPICH Version:\t4.0.2\nMPICH Release date: then",
                              "MPI 4.0", ThreadLevel::Multiple, SlurmInfo{"4711", "n[1-2]", 8});
  std::ostringstream out;
  out << topology;
  EXPECT_EQ(out.str(),
            "========================= MPI Topology =========================\n"
            "Library:    MPICH 4.0.2\n"
            "Standard:   MPI 4.0\n"
            "Threads:    Multiple\n"
            "Processes:  6 across 2 nodes\n"
            "SLURM Job:  4711\n"
            "Nodes:      n[1-2]\n"
            "CPUs/Task:  8\n"
            "\n"
            "  n1: ranks 0, 1  (2 processes)\n"
            "  n2: ranks 2-4, 7  (4 processes)\n"
            "================================================================");
}

TEST(Topology, LeavesOutWhatSlurmDidNotSay) {
  const TopologyInfo topology({{"n1", {0}}}, "x", "MPI 3.1", ThreadLevel::Single,
                              SlurmInfo{"1", std::nullopt, std::nullopt});
  const auto text = to_string(topology);
  EXPECT_TRUE(contains(text, "SLURM Job:  1\n")) << text;
  EXPECT_FALSE(contains(text, "Nodes:")) << text;
  EXPECT_FALSE(contains(text, "CPUs/Task:")) << text;
}

}  // namespace
