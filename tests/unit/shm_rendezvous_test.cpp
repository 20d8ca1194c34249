// How a group comes together, and every way in which it does not.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <map>
#include <span>
#include <string>

#include "comm/backends/shm/memory.hpp"
#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#include "support/shm_ranks.hpp"
#include "support/slurm_job.hpp"

namespace {

using cobre::comm::InitializationFailed;
using cobre::comm::InvalidConfiguration;
using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;
using cobre::comm::ShmConfig;
using test::Clock;
using test::Process;
using test::shm_config;
using test::shm_configs;
using test::unique_name;
using namespace std::chrono_literals;

std::string attach_and_add(const ShmConfig& config) {
  try {
    return "sum " + std::to_string(ShmBackend::attach(config).allreduce(1, ReduceOp::Sum));
  } catch (const std::exception& error) {
    return error.what();
  }
}

Process process_of(const ShmConfig& config) {
  return Process([config] { return attach_and_add(config); });
}

TEST(ShmRendezvous, TakesRanksInAnyOrder) {
  const auto configs = shm_configs(4);
  std::vector<Process> ranks;
  for (const std::size_t rank : {3U, 1U, 0U, 2U}) {
    ranks.push_back(process_of(configs[rank]));
    ranks.back().await_rest();
  }
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "sum 4");
}

TEST(ShmRendezvous, NamesTheSlurmJobInTheTopologyOfEveryRank) {
  test::for_each_slurm_job([](const auto& expected) {
    test::run_threads(shm_configs(2), [&](const ShmBackend& comm) { EXPECT_EQ(comm.topology().slurm, expected); });
  });
}

TEST(ShmRendezvous, MixesProcessesAndThreads) {
  const auto configs = shm_configs(4);
  auto alone = process_of(configs[3]);
  Process pair([&] {
    std::string words[2];
    std::thread other([&] { words[1] = attach_and_add(configs[1]); });
    words[0] = attach_and_add(configs[0]);
    other.join();
    return words[0] + ", " + words[1];
  });
  auto another = process_of(configs[2]);
  EXPECT_EQ(pair.words(), "sum 4, sum 4");
  EXPECT_EQ(alone.words(), "sum 4");
  EXPECT_EQ(another.words(), "sum 4");
}

TEST(ShmRendezvous, CanBeRepeatedUnderTheSameNameAtOnce) {
  const auto configs = shm_configs(3);
  std::vector<Process> ranks;
  for (const auto& config : configs) {
    ranks.emplace_back([&] {
      std::string words;
      for (int round = 0; round < 20; ++round) words = attach_and_add(config);
      return words;
    });
  }
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "sum 3");
}

TEST(ShmRendezvous, NamesTheRanksThatNeverCameOnEveryRankThatDid) {
  const auto configs = shm_configs(5, [](ShmConfig& config) { config.connect_timeout = 2s; });
  auto first = process_of(configs[0]);
  auto third = process_of(configs[2]);
  const std::string expected =
      "backend 'shm' could not start: of 5 ranks, ranks 1, 3 and 4 did not come to the group '" + configs[0].name +
      "' within 2000 ms; start all of them on this machine with the same COBRE_SHM_NAME";
  EXPECT_EQ(first.words(), expected);
  EXPECT_EQ(third.words(), expected);
}

TEST(ShmRendezvous, SaysThatRankZeroNeverCame) {
  auto config = shm_config(unique_name(), 1, 2);
  config.connect_timeout = 200ms;
  EXPECT_EQ(process_of(config).words(),
            "backend 'shm' could not start: rank 1 of 2 waited 200 ms for rank 0 of the group '" + config.name +
                "', which never came; start it on this machine with the same COBRE_SHM_NAME");
}

TEST(ShmRendezvous, RefusesDifferentSizesOnEveryRank) {
  const std::string name = unique_name();
  auto zero = process_of(shm_config(name, 0, 3));
  zero.await_rest();
  auto one = process_of(shm_config(name, 1, 3));
  one.await_rest();
  auto two = process_of(shm_config(name, 2, 4));
  const std::string expected = "backend 'shm' could not start: rank 2 came to the group '" + name +
                               "' with COBRE_SHM_SIZE 4, but rank 0 has 3; give all ranks the same";
  for (Process* rank : {&zero, &one, &two}) EXPECT_EQ(rank->words(), expected);
}

TEST(ShmRendezvous, TurnsASecondRankOfTheSameNumberAwayAndGoesOnWithTheFirst) {
  const auto configs = shm_configs(3);
  auto zero = process_of(configs[0]);
  zero.await_rest();
  auto one = process_of(configs[1]);
  one.await_rest();
  auto one_again = process_of(configs[1]);
  EXPECT_EQ(one_again.words(), "backend 'shm' could not start: rank 1 of the group '" + configs[0].name +
                                   "' is taken by process " + std::to_string(one.pid()) +
                                   "; give each rank its own COBRE_SHM_RANK, and each job its own COBRE_SHM_NAME");
  auto two = process_of(configs[2]);
  for (Process* rank : {&zero, &one, &two}) EXPECT_EQ(rank->words(), "sum 3");
}

TEST(ShmRendezvous, TurnsASecondRankZeroAway) {
  const auto configs = shm_configs(2);
  auto zero = process_of(configs[0]);
  zero.await_rest();
  auto zero_again = process_of(configs[0]);
  EXPECT_EQ(zero_again.words(), "backend 'shm' could not start: another rank 0 of a group named '" + configs[0].name +
                                    "' is starting in process " + std::to_string(zero.pid()) +
                                    "; give each job its own COBRE_SHM_NAME, and each rank of a job its own "
                                    "COBRE_SHM_RANK");
  auto one = process_of(configs[1]);
  EXPECT_EQ(zero.words(), "sum 2");
  EXPECT_EQ(one.words(), "sum 2");
}

TEST(ShmRendezvous, LetsASecondGroupUseTheNameOnceTheFirstRuns) {
  const std::string name = unique_name();
  test::Shared<std::atomic<int>> stage;
  std::vector<Process> first;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    first.emplace_back([&, rank]() -> std::string {
      const auto comm = ShmBackend::attach(shm_config(name, rank, 2));
      ++*stage;
      test::eventually([&] { return *stage == 3; });
      return "sum " + std::to_string(comm.allreduce(1, ReduceOp::Sum));
    });
  }
  ASSERT_TRUE(test::eventually([&] { return *stage == 2; }));
  std::vector<Process> second;
  for (std::size_t rank = 0; rank < 3; ++rank) second.push_back(process_of(shm_config(name, rank, 3)));
  for (auto& rank : second) EXPECT_EQ(rank.words(), "sum 3");
  ++*stage;
  for (auto& rank : first) EXPECT_EQ(rank.words(), "sum 2");
}

TEST(ShmRendezvous, ForgetsAJobThatCrashedWhileStarting) {
  const auto configs = shm_configs(2);
  auto crashed = process_of(configs[0]);
  crashed.await_rest();
  crashed.signal(SIGKILL);
  (void)crashed.await_end();
  auto zero = process_of(configs[0]);
  auto one = process_of(configs[1]);
  EXPECT_EQ(zero.words(), "sum 2");
  EXPECT_EQ(one.words(), "sum 2");
}

TEST(ShmRendezvous, IsNotDelayedByAVisitorThatSaysNothingOrNonsense) {
  using namespace cobre::comm::shm;
  const auto configs = shm_configs(2);
  const auto begin = Clock::now();
  auto zero = process_of(configs[0]);
  std::vector<cobre::comm::core::Descriptor> visitors;
  for (int i = 0; i < 5; ++i) {
    visitors.push_back(open_socket());
    ASSERT_TRUE(test::eventually([&] { return connect_to(visitors.back(), socket_name(configs[0].name)) == 0; }));
  }
  const std::array<std::byte, 40> nonsense{};
  ASSERT_TRUE(send_message(visitors[0], nonsense));
  Hello foreign;
  foreign.magic = 1;
  ASSERT_TRUE(send_message(visitors[1], foreign));
  Hello beyond;
  beyond.name_check = name_check(configs[0].name);
  beyond.size = 2;
  beyond.rank = 77;
  ASSERT_TRUE(send_message(visitors[2], beyond, std::array{0}));
  auto one = process_of(configs[1]);
  EXPECT_EQ(zero.words(), "sum 2");
  EXPECT_EQ(one.words(), "sum 2");
  EXPECT_LT(Clock::now() - begin, 1500ms);  // less than the patience with one of them
}

// What another process of this user answers in the place of rank 0, and what rank 1 of 2 says to it.
std::string words_after(const cobre::comm::shm::Reply& reply, std::span<const int> descriptors) {
  using namespace cobre::comm::shm;
  const std::string name = unique_name();
  const auto listener = open_socket();
  if (bind_to(listener, socket_name(name)) != 0 || listen(listener.get(), 1) != 0) return "cannot listen";
  Process rank(process_of(shm_config(name, 1, 2)));
  cobre::comm::core::Descriptor link;
  const bool came = test::eventually([&] {
    link = cobre::comm::core::Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    return static_cast<bool>(link);
  });
  if (!came || !send_message(link, reply, descriptors)) return "cannot answer";
  return rank.words();
}

TEST(ShmRendezvous, EndsWithAnErrorWhereASegmentIsEmptyOrNotOfThisGroup) {
  using namespace cobre::comm::shm;
  const cobre::comm::Where where{"attach", 0, 2};
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{1} << 20}) {
    const auto memory = create_memory(where, bytes);
    Reply reply;
    reply.kind = ReplyKind::Welcome;
    reply.bytes = bytes;
    reply.process_of.fill(Reply::here);
    const int descriptor = memory.get();
    EXPECT_EQ(words_after(reply, std::span(&descriptor, 1)),
              "backend 'shm' could not start: rank 0 sent a segment that is laid out in another way")
        << bytes;
  }
}

TEST(ShmRendezvous, DoesNotBelieveInTheDeathOfARankOutsideOfTheGroup) {
  using namespace cobre::comm::shm;
  Reply reply;
  reply.kind = ReplyKind::Died;
  reply.rank = -1;
  EXPECT_EQ(words_after(reply, {}), "backend 'shm' could not start: rank 0 sent an unknown answer");
}

TEST(ShmRendezvous, NamesAnotherUserWhoHoldsTheName) {
  ASSERT_EQ(geteuid(), 0U) << "needs root, to be somebody else";
  using namespace cobre::comm::shm;
  const std::string name = unique_name();
  const std::string socket = socket_name(name);  // root's, which anybody can work out
  test::Shared<std::atomic<int>> stage;
  Process squatter([&]() -> std::string {
    if (setuid(65534) != 0) return "cannot become nobody";
    const auto listener = open_socket();
    if (bind_to(listener, socket) != 0 || listen(listener.get(), 8) != 0) return "cannot listen";
    *stage = 1;
    test::eventually([&] { return *stage == 2; });
    return "held";
  });
  ASSERT_TRUE(test::eventually([&] { return *stage == 1; }));
  const std::string expected = "backend 'shm' could not start: the name '" + name +
                               "' is held by a process of user 65534, not of this user (0); choose another "
                               "COBRE_SHM_NAME, one that nobody can guess";
  EXPECT_EQ(process_of(shm_config(name, 0, 2)).words(), expected);
  EXPECT_EQ(process_of(shm_config(name, 1, 2)).words(), expected);
  *stage = 2;
  EXPECT_EQ(squatter.words(), "held");
}

TEST(ShmRendezvous, IgnoresAnotherUserWhoConnects) {
  ASSERT_EQ(geteuid(), 0U) << "needs root, to be somebody else";
  using namespace cobre::comm::shm;
  const auto configs = shm_configs(2);
  auto zero = process_of(configs[0]);
  Process stranger([&]() -> std::string {
    if (setuid(65534) != 0) return "cannot become nobody";
    const auto link = open_socket();
    const std::string name =
        "cobre-comm/0/" + socket_name(configs[0].name).substr(std::string("cobre-comm/65534/").size());
    if (!test::eventually([&] { return connect_to(link, name) == 0; })) return "cannot connect";
    Hello hello;
    hello.name_check = name_check(configs[0].name);
    hello.size = 2;
    hello.rank = 1;
    hello.process = this_process();
    const int own = 0;
    (void)send_message(link, hello, std::span(&own, 1));
    Reply reply;
    std::vector<cobre::comm::core::Descriptor> descriptors;
    Received received = Received::Nothing;
    test::eventually([&] { return (received = receive_message(link, reply, descriptors)) != Received::Nothing; });
    return received == Received::Closed ? "ignored" : "let in";
  });
  EXPECT_EQ(stranger.words(), "ignored");
  auto one = process_of(configs[1]);
  EXPECT_EQ(zero.words(), "sum 2");
  EXPECT_EQ(one.words(), "sum 2");
}

/// Processes of another user that connect to the door of a group again and again: they keep its queue full.
class Knocking {
 public:
  explicit Knocking(const std::string& group) {
    for (int i = 0; i < 4; ++i) {
      strangers_.emplace_back([name = cobre::comm::shm::socket_name(group), this] { return knock(name); });
    }
  }
  [[nodiscard]] int knocks() const { return state_->knocks; }
  void end() {
    state_->done = true;
    for (auto& stranger : strangers_) EXPECT_EQ(stranger.words(), "gone");
  }

 private:
  struct State {
    std::atomic<bool> done{false};
    std::atomic<int> knocks{0};
  };

  [[nodiscard]] std::string knock(const std::string& name) const {
    using namespace cobre::comm::shm;
    if (setuid(65534) != 0) return "cannot become nobody";
    for (const auto until = Clock::now() + 20s; !state_->done && Clock::now() < until;) {
      const auto link = open_socket();
      if (connect_to(link, name) == 0) ++state_->knocks;
    }
    return "gone";
  }

  const test::Shared<State> state_;
  std::vector<Process> strangers_;
};

TEST(ShmRendezvous, KeepsItsDeadlineWhileAnotherUserKnocksWithoutEnd) {
  ASSERT_EQ(geteuid(), 0U) << "needs root, to be somebody else";
  auto config = shm_config(unique_name(), 0, 2);
  config.connect_timeout = 500ms;
  Knocking strangers(config.name);
  const auto begin = Clock::now();
  EXPECT_NE(attach_and_add(config).find("rank 1 did not come"), std::string::npos);
  EXPECT_LT(Clock::now() - begin, 10s);
  EXPECT_GT(strangers.knocks(), 100);
  strangers.end();
}

TEST(ShmRendezvous, IsCompleteSoonWhileAnotherUserKnocksWithoutEnd) {
  ASSERT_EQ(geteuid(), 0U) << "needs root, to be somebody else";
  const auto configs = shm_configs(4);
  Knocking strangers(configs[0].name);
  std::vector<Process> ranks;
  ranks.push_back(process_of(configs[0]));
  ASSERT_TRUE(test::eventually([&] { return strangers.knocks() > 1000; })) << "more than wait in the queue at once";
  const auto begin = Clock::now();
  for (const std::size_t rank : {1U, 2U, 3U}) ranks.push_back(process_of(configs[rank]));
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "sum 4");
  EXPECT_LT(Clock::now() - begin, 5s);
  strangers.end();
}

TEST(ShmConfiguration, IsRefusedBeforeAnythingHappens) {
  EXPECT_THROW((void)ShmBackend::attach(shm_config("", 0, 1)), InvalidConfiguration);
  EXPECT_THROW((void)ShmBackend::attach(shm_config(std::string(500, 'x'), 0, 1)), InvalidConfiguration);
  EXPECT_THROW((void)ShmBackend::attach(shm_config("x", 0, 0)), InvalidConfiguration);
  EXPECT_THROW((void)ShmBackend::attach(shm_config("x", 0, 129)), InvalidConfiguration);
  try {
    (void)ShmBackend::attach(shm_config("x", 3, 3));
    ADD_FAILURE();
  } catch (const InvalidConfiguration& error) {
    EXPECT_EQ(error.variable(), "COBRE_SHM_RANK");
    EXPECT_STREQ(
        error.what(),
        "backend 'shm' could not start: COBRE_SHM_RANK is '3', but must be from 0 to 2, because COBRE_SHM_SIZE is 3");
  }
}

// The number that it names is enough.
TEST(ShmConfiguration, OfASegmentThatIsTooSmallSaysHowLargeItHasToBe) {
  for (const std::size_t size : {1U, 2U, 5U, 16U}) {
    auto config = shm_config(unique_name(), 0, size);
    config.connect_timeout = 20ms;  // nobody comes to hear of it
    config.segment_bytes = 20'000;
    std::string words;
    try {
      (void)ShmBackend::attach(config);
    } catch (const InvalidConfiguration& error) {
      words = error.what();
    }
    const std::string before = "backend 'shm' could not start: segment_bytes is '20000', but must be at least ";
    ASSERT_TRUE(words.starts_with(before)) << words;
    EXPECT_NE(words.find(", because " + std::to_string(size) + " ranks share it"), std::string::npos) << words;
    const auto least = std::stoul(words.substr(before.size()));
    config.segment_bytes = least - 1;
    EXPECT_THROW((void)ShmBackend::attach(config), InvalidConfiguration);
    if (size > 5) continue;
    auto ranks = std::vector<Process>();
    for (auto& one : shm_configs(size, [&](ShmConfig& c) { c.segment_bytes = least; })) {
      ranks.push_back(process_of(one));
    }
    for (auto& rank : ranks) EXPECT_EQ(rank.words(), "sum " + std::to_string(size));
  }
}

// Nobody waits for a rank 0 that has given up, whoever comes first, and whether its own is right.
TEST(ShmConfiguration, OfASegmentThatIsTooSmallOnRankZeroIsToldToAllAtOnce) {
  for (const std::size_t first : {0U, 1U}) {
    const auto configs = shm_configs(3, [](ShmConfig& config) {
      if (config.rank != 1) config.segment_bytes = 20'000;
    });
    const auto begin = Clock::now();
    std::map<std::size_t, Process> ranks;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t rank = (first + i) % 3;
      ranks.emplace(rank, process_of(configs[rank]));
      if (i == 0) ranks.at(rank).await_rest();
    }
    const std::string before = "backend 'shm' could not start: segment_bytes ";
    const std::string zero = ranks.at(0).words();
    ASSERT_TRUE(zero.starts_with(before + "is '20000', but must be at least ")) << zero;
    const std::string remedy = zero.substr(zero.find(", but must be at least "));
    for (const std::size_t rank : {1U, 2U}) {
      EXPECT_EQ(ranks.at(rank).words(), before + "of rank 0, which holds for all, is 20000" + remedy);
    }
    EXPECT_LT(Clock::now() - begin, 5s);  // of the 30 for which ranks are waited for
  }
}

// Also where another one splits: rank 0's holds for every group that is made of this one.
TEST(ShmConfiguration, OfTheSegmentIsRankZerosForAll) {
  const auto configs = shm_configs(3, [](ShmConfig& config) {
    if (config.rank != 0) config.segment_bytes = 20'000;
  });
  auto ranks = test::start_ranks(configs, [](const ShmBackend& comm) {
    const auto others = comm.split(comm.rank() == 0 ? 0 : 1);
    return "sum " + std::to_string(others->duplicate().allreduce(1, ReduceOp::Sum));
  });
  EXPECT_EQ(ranks[0].words(), "sum 1");
  for (const std::size_t rank : {1U, 2U}) EXPECT_EQ(ranks[rank].words(), "sum 2");
}

TEST(ShmConfiguration, ThatTheMachineCannotHoldIsAllocationFailedOnEveryRank) {
  const auto configs = shm_configs(2, [](ShmConfig& config) { config.segment_bytes = std::size_t{1} << 20; });
  auto zero = Process([&]() -> std::string {
    rlimit limit{.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_FSIZE, &limit);  // no file may have any bytes: the kernel's way of having no room
    signal(SIGXFSZ, SIG_IGN);
    return attach_and_add(configs[0]);
  });
  auto one = process_of(configs[1]);
  const auto words = zero.words();
  EXPECT_TRUE(words.starts_with("attach on rank 0 of 2: ")) << words;
  EXPECT_NE(words.find("bytes could not be had: the memory file cannot grow (File too large)"), std::string::npos)
      << words;
  EXPECT_EQ(one.words().substr(std::string("attach on rank 1").size()),
            words.substr(std::string("attach on rank 0").size()));
}

}  // namespace
