// The suite with every rank, or every two, three or four, on a host of their own, or dealt out to two hosts in turns.

#include "conformance/any_backend.hpp"
#include "conformance/kept_ranks.hpp"
#include "support/cores.hpp"
#include "support/network.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using namespace conformance;

const test::Network& network() {
  static const test::Network network(8);
  return network;
}

constexpr std::size_t in_turns = 0;

template <std::size_t RanksAHost>
std::size_t host_of(std::size_t rank) {
  if constexpr (RanksAHost == in_turns) {
    return rank % 2;
  } else {
    return rank / RanksAHost;
  }
}

template <std::size_t RanksAHost>
struct TcpNetworkRanks {
  using Communicator = CommBackend;
  static void prepare() { (void)network(); }  // by the test alone
  static Communicator make(std::size_t rank, std::size_t size, const std::string& group) {
    const std::size_t host = host_of<RanksAHost>(rank);
    network().enter(host);
    if (RanksAHost != 1) test::keep_to_half_of_the_cores(host % 2 == 0);
    auto config = test::tcp_config(group, rank, size);
    config.coordinator = test::Network::address(0);
    config.shared_memory = true;
    return cobre::comm::create_communicator(config);
  }
};

template <std::size_t RanksAHost>
struct NetworkWorld : KeptProcessWorld<TcpNetworkRanks<RanksAHost>> {
  static std::vector<std::size_t> rank_counts() { return {2, 3, 4, 5, 8}; }
};

// The long run of more ranks is that of the ranks on one host.
const auto suite = any_backend_suite([](std::size_t ranks) { return ranks <= 4 ? 10'000 : 500; });
const bool joined =
    join<NetworkWorld<1>>("TcpOneRankAHost", suite) && join<NetworkWorld<2>>("TcpTwoRanksAHost", suite) &&
    join<NetworkWorld<3>>("TcpThreeRanksAHost", suite) && join<NetworkWorld<4>>("TcpFourRanksAHost", suite) &&
    join<NetworkWorld<in_turns>>("TcpTwoHostsInTurns", suite);

}  // namespace
