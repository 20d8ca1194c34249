// Regions: one set of pages for all ranks.

#include <gtest/gtest.h>

#include <fstream>

#include "support/region_pages.hpp"
#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;
using test::outcome_of;
using test::run_threads;
using test::shm_configs;
using test::start_ranks;

// The proportional share of memory files of this library that the kernel counts for this process, in kilobytes.
std::size_t proportional_kilobytes() {
  std::ifstream smaps("/proc/self/smaps");
  std::size_t total = 0;
  bool ours = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ')) ours = line.find("memfd:cobre-comm") != std::string::npos;
    if (ours && line.starts_with("Pss:")) total += std::stoul(line.substr(4));
  }
  return total;
}

TEST(ShmRegion, OfAQuarterGigabyteOnFourRanksCostsAQuarterGigabyte) {
  auto ranks = start_ranks(shm_configs(4), test::cost_of_a_quarter_gigabyte<ShmBackend>);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "256 MB");
}

TEST(ShmRegion, IsReadOnlyForFollowersExceptTheirPart) {
  auto ranks = start_ranks(shm_configs(2), [](const ShmBackend& comm) -> std::string {
    auto region = comm.create_shared_region<int>(1000);
    if (!comm.is_leader()) {
      if (!region.as_mut_span().empty()) return "writable";
      const pid_t child = fork();
      if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        const_cast<int&>(region.as_span()[0]) = 1;
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (!WIFSIGNALED(status)) return "a stray write went through";
    }
    std::ranges::fill(region.as_partition_span(), static_cast<int>(comm.rank()) + 1);
    region.fence();
    const bool right = region.as_span()[0] == 1 && region.as_span()[999] == 2;
    region.fence();
    return right ? "right" : "wrong";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
}

TEST(ShmRegion, PartitionsCoverEverythingOnce) {
  for (const std::size_t count : {0U, 1U, 2U, 7U, 12U, 100U}) {
    run_threads(shm_configs(5), [&](const ShmBackend& comm) {
      auto region = comm.create_shared_region<std::size_t>(count);
      for (auto& element : region.as_partition_span()) ++element;
      region.fence();
      for (const std::size_t element : region.as_span()) EXPECT_EQ(element, 1U);
      region.fence();
    });
  }
}

TEST(ShmRegion, HoldsTypesWhoseDefaultIsNotZero) {
  struct Answer {
    int value = 42;
  };
  run_threads(shm_configs(3), [](const ShmBackend& comm) {
    auto region = comm.create_shared_region<Answer>(100);
    for (const Answer& answer : region.as_span()) EXPECT_EQ(answer.value, 42);
  });
}

TEST(ShmRegion, OutlivesItsCommunicator) {
  run_threads(shm_configs(3), [](const ShmBackend& comm) {
    auto region = [&] {
      auto moved = std::move(const_cast<ShmBackend&>(comm));
      auto made = moved.create_shared_region<int>(10);
      if (moved.is_leader()) made.as_mut_span()[3] = 5;
      return made;
    }();
    region.fence();
    EXPECT_EQ(region.as_span()[3], 5);
    region.fence();
  });
}

TEST(ShmRegion, FreesItsPagesWhenTheLastRankLetsGo) {
  auto ranks = start_ranks(shm_configs(2), [](const ShmBackend& comm) -> std::string {
    // A share of what is shared: both ranks must be there while either of them looks.
    const auto kilobytes = [&] {
      comm.barrier();
      const std::size_t found = proportional_kilobytes();
      comm.barrier();
      return found;
    };
    const std::size_t before = kilobytes();
    for (int round = 0; round < 20; ++round) {
      auto region = comm.create_shared_region<double>(1'000'000);
      std::ranges::fill(region.as_partition_span(), 1.0);
      region.fence();
    }
    return kilobytes() <= before + 100 ? "freed" : "kept";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "freed");
}

TEST(ShmRegion, DeathOfARankDuringAFenceIsPeerFailed) {
  test::Shared<test::Meeting> made;
  auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
    auto region = comm.create_shared_region<double>(10);
    made->wait_for(2);
    if (comm.rank() == 1) raise(SIGKILL);
    return outcome_of([&] { region.fence(); });
  });
  EXPECT_EQ(ranks[0].words(), "PeerFailed 1 signal 9");
}

TEST(ShmRegion, FencesOfDifferentRegionsAreAMismatch) {
  auto ranks = start_ranks(shm_configs(2), [](const ShmBackend& comm) -> std::string {
    auto first = comm.create_shared_region<double>(10);
    auto second = comm.create_shared_region<double>(10);
    return outcome_of([&] { (comm.rank() == 0 ? first : second).fence(); });
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "CollectiveMismatch count 0 1");
}

TEST(ShmSplitLocal, MayBeUsedBesideTheCommunicatorAndLonger) {
  run_threads(shm_configs(3), [](const ShmBackend& comm) {
    const auto node = comm.split_local();
    EXPECT_EQ(node->rank(), comm.rank());
    EXPECT_EQ(node->size(), 3U);
    std::thread other([&] {
      for (int i = 0; i < 500; ++i) node->barrier();
    });
    for (int i = 0; i < 500; ++i) EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), 3);
    other.join();
    { const auto gone = std::move(const_cast<ShmBackend&>(comm)); }
    for (int i = 0; i < 10; ++i) node->barrier();
  });
}

}  // namespace
