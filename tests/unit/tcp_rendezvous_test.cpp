// Coming together over TCP: late, wrong, twice, not at all, and by every kind of address.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ios>
#include <sstream>
#include <string>
#include <vector>

#include "comm/backends/tcp/endpoint.hpp"
#include "comm/backends/tcp/sockets.hpp"
#include "support/slurm_job.hpp"
#include "support/tcp_ranks.hpp"
#include "unit/tcp_visits.hpp"

namespace {

using cobre::comm::TcpBackend;
using cobre::comm::TcpConfig;
using test::start_connecting;
using test::tcp_configs;
using namespace std::chrono_literals;

void expect_contains(const std::string& words, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(words.find(part), std::string::npos) << words;
}

// Each has come and waits for the rest before the next one is started.
std::vector<test::Process> start_one_by_one(const std::vector<TcpConfig>& configs) {
  std::vector<test::Process> ranks;
  for (const TcpConfig& config : configs) {
    ranks.push_back(std::move(start_connecting({config}).front()));
    ranks.back().await_rest();
    ranks.front().await_rest();  // where that is rank 0, it has let the other in
  }
  return ranks;
}

void expect_fine(std::vector<test::Process>& ranks) {
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

TEST(TcpRendezvous, TakesRanksInAnyOrder) {
  const auto configs = tcp_configs(4);
  auto ranks = start_one_by_one({configs[3], configs[1], configs[2], configs[0]});
  expect_fine(ranks);
}

TEST(TcpRendezvous, NamesTheSlurmJobInTheTopologyOfEveryRank) {
  for (const bool shared : {false, true}) {
    test::for_each_slurm_job([&](const auto& expected) {
      const auto configs = tcp_configs(2, [&](auto& config) { config.shared_memory = shared; });
      auto ranks = test::start_ranks(configs, [&](const TcpBackend& comm) -> std::string {
        return comm.topology().slurm == expected ? "as expected" : "something else";
      });
      for (auto& rank : ranks) EXPECT_EQ(rank.words(), "as expected");
    });
  }
}

// The kernel holds a small frame back for as long as the last one is not acknowledged, and acknowledgements wait 40 ms
// for company: whoever forgets to forbid it pays that on every start, however fast the machine. One start without it is
// proof, and on a busy machine takes some attempts.
TEST(TcpRendezvous, TakesNoLongerThanItsMessages) {
  auto shortest = std::chrono::steady_clock::duration::max();
  for (int attempt = 0; attempt < 200 && shortest >= 40ms; ++attempt) {
    const auto begin = std::chrono::steady_clock::now();
    auto ranks = start_connecting(tcp_configs(2));
    expect_fine(ranks);
    shortest = std::min(shortest, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(shortest, 40ms);
}

TEST(TcpRendezvous, ListsTheRanksThatNeverCame) {
  auto configs = tcp_configs(5, [](auto& config) { config.connect_timeout = 2s; });
  configs.erase(configs.begin() + 3);
  configs.erase(configs.begin() + 1);
  for (auto& rank : start_connecting(configs)) {
    expect_contains(rank.words(), {"of 5 ranks, ranks 1 and 3 did not come", "within 2000 ms"});
  }
}

TEST(TcpRendezvous, ListsTheRanksThatNeverCameHoweverManyTheyAre) {
  const auto configs = tcp_configs(60, [](auto& config) { config.connect_timeout = 2s; });
  for (auto& rank : start_connecting({configs[0], configs[1], configs[20]})) {
    expect_contains(rank.words(), {"of 60 ranks, ranks 2-19 and 21-59 did not come", "let no firewall stand between"});
  }
}

// Rank 0 can say all that it knows; a frame has an end, where the others would lose what they can do about it.
TEST(TcpRendezvous, TellsWhatToDoAlsoWhereAFrameHoldsNoWholeListOfTheRanksThatNeverCame) {
  TcpConfig config = tcp_configs(1).front();
  config.size = 1024;
  config.connect_timeout = 3s;
  auto rank_zero = start_connecting({config});
  std::vector<test::Proven> here;
  for (config.rank = 701; config.rank < 901; config.rank += 2) here.push_back(test::come_as_rank(config));
  const auto until = std::chrono::steady_clock::now() + 10s;
  EXPECT_EQ(test::hear_reply(here.back(), 0, until).kind, cobre::comm::tcp::ReplyKind::Accepted);
  expect_contains(rank_zero[0].words(), {"ranks 1-700, 702, 704, 706, ", ", 896, 898 and 900-1023 did not come",
                                         "let no firewall stand between"});
  const auto last = test::hear_reply(here.back(), 1, until);
  EXPECT_EQ(last.kind, cobre::comm::tcp::ReplyKind::Failed);
  expect_contains(last.text.words(), {"ranks 1-700, 702, ", " more did not come", "let no firewall stand between"});
}

// Rank 1 would have given up before rank 0, which alone knows who is missing.
TEST(TcpRendezvous, ListsTheRanksThatNeverCameAlsoToThoseWhoCameLongBeforeRankZero) {
  auto configs = tcp_configs(3, [](auto& config) { config.connect_timeout = 3s; });
  auto ranks = start_connecting({configs[1]});
  configs[0].connect_timeout = 5s;
  std::this_thread::sleep_for(1s);
  for (auto& rank : start_connecting({configs[0]})) ranks.push_back(std::move(rank));
  for (auto& rank : ranks) expect_contains(rank.words(), {"of 3 ranks, rank 2 did not come", "within 5000 ms"});
}

TEST(TcpRendezvous, SaysThatRankZeroNeverCame) {
  auto configs = tcp_configs(2, [](auto& config) { config.connect_timeout = 200ms; });
  auto ranks = start_connecting({configs[1]});
  expect_contains(ranks[0].words(), {"rank 1 of 2 waited 200 ms for rank 0", "Connection refused"});
}

TEST(TcpRendezvous, RefusesASecondRankOfTheSameNumberAndGoesOn) {
  auto configs = tcp_configs(3);
  const auto imposter = configs[1];
  configs.erase(configs.begin() + 2);
  auto ranks = start_one_by_one(configs);
  auto second = start_connecting({imposter});
  expect_contains(second[0].words(), {"rank 1 is taken by process", "COBRE_TCP_RANK"});
  auto last = imposter;
  last.rank = 2;
  for (auto& rank : start_connecting({last})) ranks.push_back(std::move(rank));
  expect_fine(ranks);
}

TEST(TcpRendezvous, TellsEveryoneOfASizeThatDiffers) {
  auto configs = tcp_configs(3);
  configs[2].size = 4;
  for (auto& rank : start_connecting(configs)) {
    expect_contains(rank.words(), {"rank 2 came with COBRE_TCP_SIZE 4, but rank 0 has 3"});
  }
}

TEST(TcpRendezvous, RefusesARankBeyondTheSizeBeforeAnythingIsSent) {
  auto configs = tcp_configs(2);
  configs[1].rank = 2;
  auto ranks = start_connecting({configs[1]});
  expect_contains(ranks[0].words(), {"COBRE_TCP_RANK", "from 0 to 1"});
}

TEST(TcpRendezvous, SaysThatThePortIsInUse) {
  const auto configs = tcp_configs(2);
  const auto address = cobre::comm::tcp::resolve(configs[0].coordinator, configs[0].port).addresses.at(0);
  const auto squatter = cobre::comm::tcp::open_listener(address, 1);
  ASSERT_TRUE(squatter.socket);
  auto ranks = start_connecting({configs[0]});
  expect_contains(ranks[0].words(), {"rank 0 cannot listen at", "Address already in use", "COBRE_TCP_PORT"});
}

TEST(TcpRendezvous, SaysThatAHostIsNotKnown) {
  const auto configs = tcp_configs(2, [](auto& config) {
    config.coordinator = "no-such-host.invalid";
    config.connect_timeout = 500ms;
  });
  for (auto& rank : start_connecting(configs)) {
    expect_contains(rank.words(), {"the host 'no-such-host.invalid' of COBRE_TCP_COORDINATOR is not known"});
  }
}

TEST(TcpRendezvous, SaysThatTheCoordinatorIsNoAddressOfThisMachine) {
  const auto configs = tcp_configs(2, [](auto& config) {
    config.coordinator = "192.0.2.1";  // for documentation; nobody has it
    config.connect_timeout = 500ms;
  });
  auto ranks = start_connecting({configs[0]});
  expect_contains(ranks[0].words(), {"rank 0 cannot listen at 192.0.2.1:29500", "the machine on which rank 0 runs"});
}

TEST(TcpRendezvous, NeedsASecretBeyondLoopback) {
  for (const std::size_t rank : {0U, 1U}) {
    auto configs = tcp_configs(2, [](auto& config) {
      config.coordinator = "192.0.2.1";
      config.secret = {};
    });
    EXPECT_THROW((void)TcpBackend::connect(configs[rank]), cobre::comm::MissingConfiguration);
  }
}

// Where the coordinator is on loopback, but a door of this rank would be open to others.
TEST(TcpRendezvous, NeedsASecretToBindBeyondLoopback) {
  const std::vector<std::pair<std::string, std::string>> ways{
      {"127.0.0.1", "0.0.0.0"}, {"127.0.0.1", "192.0.2.7"}, {"::1", "::"}};
  for (const auto& [coordinator, bound] : ways) {
    for (const std::size_t rank : {0U, 1U}) {
      auto configs = tcp_configs(2, [&](auto& config) {
        config.coordinator = coordinator;
        config.bind_address = bound;
        config.secret = {};
        config.connect_timeout = 200ms;
      });
      EXPECT_THROW((void)TcpBackend::connect(configs[rank]), cobre::comm::MissingConfiguration) << bound << rank;
    }
  }
}

TEST(TcpRendezvous, NeedsNoSecretOnLoopback) {
  auto ranks = start_connecting(tcp_configs(3, [](auto& config) { config.secret = {}; }));
  expect_fine(ranks);
}

TEST(TcpRendezvous, WorksOverIpv6) {
  const int port = 20000 + getpid() % 10000;
  auto ranks =
      start_connecting(tcp_configs(3, [&](auto& config) { config.coordinator = "[::1]:" + std::to_string(port); }));
  expect_fine(ranks);
}

TEST(TcpRendezvous, WorksByNameWhereTheNameHasSeveralAddresses) {
  const int port = 30000 + getpid() % 2000;
  auto ranks =
      start_connecting(tcp_configs(3, [&](auto& config) { config.coordinator = "localhost:" + std::to_string(port); }));
  expect_fine(ranks);
}

TEST(TcpRendezvous, BindsWhereItIsTold) {
  auto ranks = start_connecting(tcp_configs(3, [&](auto& config) {
    if (config.rank != 0) config.bind_address = "127.0.0.1";
  }));
  expect_fine(ranks);
}

TEST(TcpRendezvous, RefusesToBindToAnAddressThatIsNotHere) {
  auto configs = tcp_configs(2, [&](auto& config) {
    config.connect_timeout = 500ms;
    if (config.rank == 1) config.bind_address = "192.0.2.7";
  });
  auto ranks = start_connecting(configs);
  expect_contains(ranks[1].words(), {"Cannot assign requested address"});
}

TEST(TcpRendezvous, TellsEveryoneOfARankThatDiedWhileTheOthersCame) {
  const auto configs = tcp_configs(4, [](auto& config) { config.connect_timeout = 20s; });
  auto ranks = start_one_by_one({configs[0], configs[1], configs[2]});
  ranks[1].signal(SIGKILL);
  for (const std::size_t rank : {0U, 2U}) expect_contains(ranks[rank].words(), {"connect on rank", "rank 1"});
}

TEST(TcpRendezvous, MakesSixteenRanksAJob) {
  auto ranks = start_connecting(tcp_configs(16));
  expect_fine(ranks);
}

std::ptrdiff_t sockets_of_this_process() {
  return std::ranges::count_if(std::filesystem::directory_iterator("/proc/self/fd"), [](const auto& descriptor) {
    std::error_code gone;  // the one by which the list is read
    return std::filesystem::read_symlink(descriptor.path(), gone).string().starts_with("socket:");
  });
}

// Of sixteen, each has seven at distances that are powers of two: links for operations, for messages and of its
// sentinel to each of them, and its door. The other eight it meets when it has something for them.
TEST(TcpRendezvous, OpensSocketsOnlyForThePatternsInUse) {
  const test::Shared<test::Meeting> counted;
  auto ranks = test::start_ranks(tcp_configs(16), [&](const TcpBackend& comm) -> std::string {
    comm.barrier();
    (void)comm.broadcast(1, 3);
    (void)comm.allreduce(1, cobre::comm::ReduceOp::Sum);
    const auto of_usual_patterns = sockets_of_this_process();
    counted->wait_for(comm.size());
    std::vector<int> to(comm.size());
    std::vector<int> from(comm.size());
    comm.alltoall(to, from);
    const auto of_all_pairs = sockets_of_this_process();
    counted->wait_for(comm.size());
    return std::to_string(of_usual_patterns) + ", then " + std::to_string(of_all_pairs);
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "22, then 30");
}

TEST(TcpRendezvous, MeasuresWhatMessagesCostAndTellsEveryRankTheSame) {
  const auto configs = tcp_configs(3);
  const auto words_of = [](const cobre::comm::algorithms::Costs& costs) {
    std::ostringstream words;
    words << std::hexfloat << costs.message << " " << costs.byte << " " << costs.folded;
    return words.str();
  };
  std::vector<test::Process> ranks;
  for (const TcpConfig& config : configs) {
    ranks.emplace_back([&] {
      const cobre::comm::tcp::Endpoint endpoint(config);
      return words_of(endpoint.tuning().costs);
    });
  }
  const std::string measured = ranks[0].words();
  EXPECT_NE(measured, words_of({}));
  EXPECT_EQ(std::ranges::count(measured, ' '), 2) << measured;
  for (const std::size_t rank : {1U, 2U}) EXPECT_EQ(ranks[rank].words(), measured);
}

TEST(TcpRendezvous, OfOneRankNeedsNobody) {
  TcpConfig config;
  config.coordinator = "127.0.0.1";
  const auto comm = TcpBackend::connect(config);
  comm.barrier();
  EXPECT_EQ(comm.allreduce(3, cobre::comm::ReduceOp::Sum), 3);
  EXPECT_EQ(comm.topology().backend, cobre::comm::BackendKind::Tcp);
}

}  // namespace
