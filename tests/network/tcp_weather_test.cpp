// Networks that lose, delay, or know only one kind of address.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "comm/backends/tcp/address.hpp"
#include "comm/core/descriptor.hpp"
#include "support/lossy_link.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::TcpBackend;
using cobre::comm::TcpConfig;
using test::LossyLink;
using test::Network;
using test::outcome_of;
using namespace std::chrono_literals;

std::string work(const TcpBackend& comm) {
  for (int i = 0; i < 20; ++i) {
    std::vector<double> data(5'000, 1.0);
    comm.allreduce_inplace(data, ReduceOp::Sum);
    if (data.back() != static_cast<double>(comm.size())) return "wrong sum";
    comm.broadcast(data, static_cast<std::size_t>(i) % comm.size());
  }
  return "right";
}

std::vector<test::Process> start_over(const Network& network, std::size_t size, const std::string& coordinator,
                                      const std::function<std::string(const TcpBackend&)>& body,
                                      const std::function<void(TcpConfig&)>& change = {}) {
  const auto configs = test::tcp_configs(size, [&](TcpConfig& config) {
    config.coordinator = coordinator;
    config.shared_memory = true;
    if (change) change(config);
  });
  const auto connect = [&](std::size_t rank) {
    network.enter(rank < (size + 1) / 2 ? 0 : 1);
    return TcpBackend::connect(configs[rank]);
  };
  return test::start_group(size, connect, body);
}

TEST(TcpWeather, LossAndDelayCostTimeAndNothingElse) {
  const Network network(2);
  const LossyLink link(network, {.loss = 0.02, .delay = 2ms});
  auto ranks = start_over(network, 4, LossyLink::address(0), work);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
  EXPECT_GE(link.lost(), 10U);
}

TEST(TcpWeather, LossAndDelayHideNoDeath) {
  const Network network(2);
  const LossyLink link(network, {.loss = 0.05, .delay = 5ms});
  test::Shared<test::Meeting> connected;
  auto ranks = start_over(network, 4, LossyLink::address(0), [&](const TcpBackend& comm) -> std::string {
    comm.barrier();
    connected->wait_for(4);
    if (comm.rank() == 3) raise(SIGKILL);
    return outcome_of([&] { comm.barrier(); }).substr(0, 12);
  });
  for (const std::size_t rank : {0U, 1U, 2U}) EXPECT_EQ(ranks[rank].words(), "PeerFailed 3") << "rank " << rank;
  EXPECT_GE(link.lost(), 1U);
}

// A cable over which nothing comes any more, with nobody at the other end to say so.
TEST(TcpWeather, NothingComingThroughIsAFailureWithinTheConfiguredTime) {
  const Network network(2);
  auto link = std::make_unique<LossyLink>(network, LossyLink::Weather{});
  test::Shared<std::atomic<int>> ready;
  auto ranks = start_over(
      network, 2, LossyLink::address(0),
      [&](const TcpBackend& comm) -> std::string {
        comm.barrier();
        ++*ready;
        return outcome_of([&] {
                 for (;;) comm.barrier();
               })
            .substr(0, 10);
      },
      [](TcpConfig& config) { config.host_timeout = 1s; });
  ASSERT_TRUE(test::eventually([&] { return *ready == 2; }));
  link.reset();
  for (auto& rank : ranks) EXPECT_EQ(rank.words(10s), "PeerFailed");
}

TEST(TcpWeather, WithoutIpv6NothingIsMissed) {
  const Network network(2);
  const auto forbid = [](const std::string& name) {
    std::ofstream("/proc/sys/net/ipv6/conf/" + name) << 1 << std::flush;
    int forbidden = 0;
    std::ifstream("/proc/sys/net/ipv6/conf/" + name) >> forbidden;
    return forbidden == 1;
  };
  for (const std::size_t host : {0U, 1U}) {
    test::Process there([&]() -> std::string {
      network.enter(host);
      return forbid("all/disable_ipv6") && forbid("default/disable_ipv6") ? "" : "IPv6 is still there";
    });
    EXPECT_EQ(there.words(), "");
  }
  auto ranks = start_over(network, 4, Network::address(0), work);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
}

TEST(TcpWeather, WithIpv6AloneNothingIsMissed) {
  const Network network(2);
  for (const std::size_t host : {0U, 1U}) {
    test::Process there([&]() -> std::string {
      network.enter(host);
      const std::string address = "fd77::" + std::to_string(host + 1) + "/64";
      const std::string command =
          "ip -4 addr flush dev eth0 && ip -4 addr flush dev lo && ip addr add " + address + " dev eth0 nodad";
      return std::system(command.c_str()) == 0 ? "" : command + " failed";
    });
    EXPECT_EQ(there.words(), "");
  }
  auto ranks = start_over(network, 4, "[fd77::1]", work);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
}

// Such an address means nothing without the number of an interface, and the second host has another number for its own.
// What would have the same number there leads nowhere.
TEST(TcpWeather, LinkLocalAddressesAreReachedThroughEachHostsOwnInterface) {
  const Network network(2);
  network.add_address(0, "fe80::77:1/64 nodad");
  network.add_interface(1, "eth1", "fe80::77:2/64 nodad");
  network.unplug(1);
  constexpr std::size_t size = 6;
  const auto configs = test::tcp_configs(size, [](TcpConfig& config) {
    config.coordinator = config.rank % 2 == 0 ? "[fe80::77:1%eth0]" : "[fe80::77:1%eth1]";
    config.connect_timeout = 8s;
  });
  const auto connect = [&](std::size_t rank) {
    network.enter(rank % 2);
    return TcpBackend::connect(configs[rank]);
  };
  auto ranks = test::start_group(size, connect, [](const TcpBackend& comm) -> std::string {
    // To one of the other host with whom there is no connection yet, by whoever is first.
    if (comm.rank() == 0) comm.send(3, 3);
    if (comm.rank() == 3 && comm.recv<int>(0) != 3) return "another message";
    const auto part = comm.split(static_cast<int>(comm.rank() / 3), -static_cast<int>(comm.rank()));
    if (part->allreduce(1, ReduceOp::Sum) != 3) return "wrong sum of a part";
    return work(comm);
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
}

TEST(TcpWeather, ANameServerThatDoesNotAnswerDelaysNobodyBeyondTheDeadline) {
  const Network network(1);
  for (const std::size_t rank : {0U, 1U}) {
    test::Process waiting([&]() -> std::string {
      network.enter(0);
      // One that takes questions: of one that is not there the kernel would say so.
      const auto server =
          cobre::comm::tcp::Address::from_wire({.family = 4, .port = 53, .scope = 0, .bytes = {127, 0, 0, 1}});
      const cobre::comm::core::Descriptor silent(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      if (bind(silent.get(), server->get(), server->length()) != 0) return "no name server";
      Network::use_name_server("127.0.0.1");
      auto configs = test::tcp_configs(2, [](TcpConfig& config) {
        config.coordinator = "rank-zero.test";
        config.connect_timeout = 500ms;
      });
      const auto begin = test::Clock::now();
      const std::string words = outcome_of([&] { (void)TcpBackend::connect(configs[rank]); });
      return test::Clock::now() - begin < 2s ? words : "too late: " + words;
    });
    const std::string words = waiting.words();
    EXPECT_NE(
        words.find("the host 'rank-zero.test' of COBRE_TCP_COORDINATOR is not known: the resolver did not answer in "
                   "time"),
        std::string::npos)
        << words;
    EXPECT_EQ(words.find("too late"), std::string::npos) << words;
  }
}

}  // namespace
