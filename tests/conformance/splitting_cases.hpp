#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/sequence_cases.hpp"
#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

/// The ranks of `comm` that are in `part`, by their rank there.
template <class C>
std::vector<std::size_t> members_of(const C& part, const C& comm) {
  return part.allgatherv(std::array{comm.rank()}).values;
}

/// Two threads may be inside of the backend at the same time.
template <class C>
bool takes_threads(const C& comm) {
  const auto& mpi = comm.topology().mpi;
  return !mpi || mpi->thread_level == "Multiple";
}

template <class C>
void splitting_cases(Suite<C>& suite) {
  auto group = suite.group("Splitting");

  group.add("RanksOfOneColourFormACommunicator", [](const C& comm) {
    for (const std::size_t colours : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
      const std::size_t mine = comm.rank() % colours;
      const auto part = comm.split(static_cast<int>(mine));
      ASSERT_TRUE(part.has_value());
      std::vector<std::size_t> expected;
      for (std::size_t rank = mine; rank < comm.size(); rank += colours) expected.push_back(rank);
      EXPECT_EQ(part->size(), expected.size());
      EXPECT_EQ(part->rank(), comm.rank() / colours);
      EXPECT_EQ(members_of(*part, comm), expected);
    }
  });

  group.add("KeysOrderTheRanksOfAPartAndTiesKeepTheirOldOrder", [](const C& comm) {
    const auto backwards = comm.split(7, -static_cast<int>(comm.rank()));
    ASSERT_TRUE(backwards.has_value());
    EXPECT_EQ(backwards->rank(), comm.size() - 1 - comm.rank());
    EXPECT_EQ(backwards->broadcast(comm.rank(), 0), comm.size() - 1);

    const auto odd_first = comm.split(0, comm.rank() % 2 == 1 ? -5 : 5);
    ASSERT_TRUE(odd_first.has_value());
    std::vector<std::size_t> expected;
    for (const std::size_t first : {std::size_t{1}, std::size_t{0}}) {
      for (std::size_t rank = first; rank < comm.size(); rank += 2) expected.push_back(rank);
    }
    EXPECT_EQ(members_of(*odd_first, comm), expected);
  });

  group.add("ANegativeColourJoinsNoPart", [](const C& comm) {
    const bool joins = comm.rank() > 0;
    const auto rest = comm.split(joins ? 3 : cobre::comm::undefined_color);
    EXPECT_EQ(rest.has_value(), joins);
    if (rest) {
      EXPECT_EQ(rest->size(), comm.size() - 1);
      check_allreduce<double>(*rest, ReduceOp::Sum, 100, 1);
    }
    EXPECT_FALSE(comm.split(-32766).has_value());
    check_allreduce<double>(comm, ReduceOp::Sum, 100, 2);
  });

  group.add("TheBitsOfAPartDependOnItsRankCountAlone", [](const C& comm) {
    for (std::size_t members = 1; members <= comm.size(); ++members) {
      // Not the first ranks, and not in their order.
      const std::size_t place = comm.size() - 1 - comm.rank();
      const auto part = comm.split(place < members ? 0 : 1, -static_cast<int>(comm.rank()));
      ASSERT_TRUE(part.has_value());
      for (const std::size_t count : {std::size_t{3}, std::size_t{1000}, std::size_t{20000}}) {
        check_allreduce<double>(*part, ReduceOp::Sum, count, members);
      }
    }
  });

  group.add("APartCanBeSplitAgainDownToSingleRanks", [](const C& comm) {
    std::vector<C> parts;
    parts.push_back(comm.duplicate());
    while (parts.back().size() > 1) {
      const C& whole = parts.back();
      auto half = whole.split(whole.rank() < whole.size() / 2 ? 0 : 1);
      ASSERT_TRUE(half.has_value());
      parts.push_back(std::move(*half));
    }
    for (const C& part : parts) run_random_operations(part, 20, part.size());
  });

  group.add("ADuplicateHasTheSameRanksAndIsNotDisturbedByItsOrigin", [](const C& comm) {
    const C twin = comm.duplicate();
    EXPECT_EQ(twin.rank(), comm.rank());
    EXPECT_EQ(twin.size(), comm.size());
    for (std::uint64_t round = 0; round < 20; ++round) {
      run_random_operations(twin, 3, round);
      run_random_operations(comm, 3, 1000 + round);
    }
  });

  group.add("MessagesOfADuplicateAreItsOwn", [](const C& comm) {
    const C twin = comm.duplicate();
    const std::size_t to = (comm.rank() + 1) % comm.size();
    const std::size_t from = (comm.rank() + comm.size() - 1) % comm.size();
    const auto channel = comm.channel(to, 1);
    const auto other = twin.channel(to, 1);
    comm.send(1, to);
    twin.send(2, to);
    channel.send(3);
    other.send(4);
    EXPECT_EQ(twin.template recv<int>(from), 2);
    EXPECT_EQ(twin.channel(from, 1).template recv<int>(), 4);
    EXPECT_EQ(comm.channel(from, 1).template recv<int>(), 3);
    EXPECT_EQ(comm.template recv<int>(from), 1);
  });

  group.add("PartsOutliveWhatTheyWereSplitFrom", [](const C& comm) {
    std::optional<C> twin(comm.duplicate());
    auto first = twin->split(static_cast<int>(comm.rank() % 2));
    auto second = twin->split(0, -static_cast<int>(comm.rank()));
    twin.reset();
    ASSERT_TRUE(first.has_value() && second.has_value());
    run_random_operations(*first, 20, 1);
    const C third = second->duplicate();
    first.reset();
    run_random_operations(*second, 20, 2);
    second.reset();
    run_random_operations(third, 20, 3);
    comm.barrier();
  });

  group.add("ANodeHasTheRanksOfOneHost", [](const C& comm) {
    const C node = comm.node();
    EXPECT_EQ(node.topology().num_hosts(), 1U);
    const auto& hosts = comm.topology().hosts;
    EXPECT_EQ(members_of(node, comm), hosts[comm.topology().host_index_of(comm.rank())].ranks);
    run_random_operations(node, 50, 4);
  });

  group.add("RegionsOfAPartAreItsOwn", [](const C& comm) {
    const auto part = comm.split(static_cast<int>(comm.rank() % 2), -static_cast<int>(comm.rank()));
    ASSERT_TRUE(part.has_value());
    auto ours = part->template create_shared_region<std::size_t>(1000);
    auto everyones = comm.template create_shared_region<std::size_t>(1000);
    const auto local = part->split_local();
    EXPECT_EQ(part->is_leader(), local->rank() == 0);
    for (auto& value : ours.as_mut_span()) value = 10 + comm.rank() % 2;
    for (auto& value : everyones.as_mut_span()) value = 99;
    ours.fence();
    everyones.fence();
    for (const auto value : ours.as_span()) ASSERT_EQ(value, 10 + comm.rank() % 2);
    for (const auto value : everyones.as_span()) ASSERT_EQ(value, 99U);
    local->barrier();
  });

  group.add("TheTopologyOfAPartIsThatOfItsRanks", [](const C& comm) {
    const auto part = comm.split(0, -static_cast<int>(comm.rank()));
    ASSERT_TRUE(part.has_value());
    const auto& whole = comm.topology();
    const auto& topology = part->topology();
    EXPECT_EQ(topology.backend, whole.backend);
    EXPECT_EQ(topology.world_size, part->size());
    EXPECT_EQ(topology.num_hosts(), whole.num_hosts());
    for (std::size_t rank = 0; rank < part->size(); ++rank) {
      const std::size_t old = part->size() - 1 - rank;
      EXPECT_EQ(topology.hosts[topology.host_index_of(rank)].hostname, whole.hosts[whole.host_index_of(old)].hostname);
      EXPECT_EQ(topology.recommended_threads(rank), whole.recommended_threads(old));
    }
  });

  group.add("TwoThreadsUseTwoPartsAtTheSameTime", [](const C& comm) {
    if (!takes_threads(comm)) return;
    const C one = comm.duplicate();
    const auto other = comm.split(static_cast<int>(comm.rank() % 2));
    ASSERT_TRUE(other.has_value());
    std::thread helper([&] { run_random_operations(*other, 60, 5); });
    run_random_operations(one, 60, 6);
    helper.join();
  });

  group.add("TwoThreadsDivideAndPlanAndTalkOnACommunicatorEach", [](const C& comm) {
    if constexpr (cobre::comm::PersistentCollectives<C>) {
      if (!takes_threads(comm)) return;
      const C twins[] = {comm.duplicate(), comm.duplicate()};
      const auto use = [](const C& whole, std::size_t seed) {
        const std::size_t size = whole.size();
        for (std::size_t round = 0; round < 2; ++round) {
          const std::vector<double> mine(3, static_cast<double>(seed + round));
          std::vector<double> sums(3);
          auto plan = whole.allreduce_init(mine, sums, ReduceOp::Sum);
          plan.start();
          const auto part = whole.split(static_cast<int>(whole.rank() % 2), -static_cast<int>(whole.rank()));
          const C twin = part->duplicate();
          const std::size_t to = (twin.rank() + 1) % twin.size();
          const std::size_t from = (twin.rank() + twin.size() - 1) % twin.size();
          EXPECT_EQ(twin.sendrecv(seed + twin.rank(), to, from), seed + from);
          EXPECT_EQ(whole.sendrecv(seed + whole.rank(), size - 1 - whole.rank(), size - 1 - whole.rank()),
                    seed + size - 1 - whole.rank());
          plan.wait();
          EXPECT_EQ(sums, std::vector<double>(3, static_cast<double>((seed + round) * size)));
        }
      };
      std::thread helper([&] { use(twins[1], 1000); });
      use(twins[0], 500);
      helper.join();
    }
  });

  group.add("TwoThreadsSendToThemselvesOnADuplicateEach", [](const C& comm) {
    if (!takes_threads(comm)) return;
    const C twins[] = {comm.duplicate(), comm.duplicate()};
    const auto talk = [rank = comm.rank()](const auto& channel, int mine) {
      for (int round = 0; round < 200; ++round) {
        channel.send(mine + round);
        EXPECT_EQ(channel.template recv<int>(), mine + round) << "rank " << rank;
      }
    };
    // Opened here, and one of them used there.
    const auto here = twins[0].channel(comm.rank(), 3);
    const auto there = twins[1].channel(comm.rank(), 3);
    std::thread helper([&] { talk(there, 10'000); });
    talk(here, 20'000);
    helper.join();
    comm.barrier();
  });

#ifndef NDEBUG
  // The lower one of a pair: one of its threads waits for a message, and the other sends to itself meanwhile.
  group.add("TwoThreadsThatSendAndReceiveInOneCommunicatorAreTold", [](const C& comm) {
    if (!takes_threads(comm)) return;
    const C twin = comm.duplicate();
    const std::size_t partner = (comm.rank() ^ 1U) < comm.size() ? comm.rank() ^ 1U : comm.rank();
    std::atomic<int> told{0};
    const auto is_told = [&](const auto& call) {
      try {
        call();
        return false;
      } catch (const cobre::comm::InvalidOperation& error) {
        EXPECT_NE(std::string(error.what()).find("another thread is inside"), std::string::npos) << error.what();
        ++told;
        return true;
      }
    };
    if (comm.rank() < partner) {
      const auto awaited = twin.channel(partner, 1);
      const auto to_self = twin.channel(comm.rank(), 2);
      int sent = 0;
      bool is_out = false;
      std::thread helper([&] { is_out = is_told([&] { EXPECT_EQ(awaited.template recv<int>(), 7); }); });
      const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (told == 0 && std::chrono::steady_clock::now() < give_up) {
        if (!is_told([&] { to_self.send(sent); })) ++sent;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      comm.barrier();
      helper.join();
      EXPECT_GE(told, 1);
      if (is_out) {
        EXPECT_EQ(awaited.template recv<int>(), 7);
      }
      for (int i = 0; i < sent; ++i) EXPECT_EQ(to_self.template recv<int>(), i);
    } else {
      comm.barrier();
      if (comm.rank() > partner) twin.channel(partner, 1).send(7);
    }
  });
#endif

  group.add("PartsThatAreGoneLeaveNothingOpen", [](const C& comm) {
    if (comm.topology().mpi) return;  // what the MPI library keeps is its own affair
    const auto open_files = [] {
      const std::filesystem::directory_iterator files("/proc/self/fd");
      return std::distance(begin(files), end(files));
    };
    const auto use = [&] {
      const auto part = comm.split(static_cast<int>(comm.rank() % 2));
      part->barrier();
    };
    use();
    comm.barrier();
    const auto before = open_files();
    for (int round = 0; round < 10; ++round) use();
    comm.barrier();
    // Ranks that are threads share one table of files, and some may be at the end of their last part still.
    EXPECT_LE(open_files(), before + 8 * static_cast<std::ptrdiff_t>(comm.size()));
  });
}

}  // namespace conformance
