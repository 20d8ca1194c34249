// What crosses the wire for long messages, counted by the kernel at the interfaces: headers and acknowledgements
// included.

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <numeric>
#include <sstream>

#include "support/lossy_link.hpp"
#include "support/tcp_hosts.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::TcpBackend;
using cobre::comm::TcpConfig;
using test::LossyLink;
using test::Network;
using test::start_on;
using namespace std::chrono_literals;

constexpr std::size_t bytes = 8'000'000;
constexpr std::size_t elements = bytes / sizeof(double);
constexpr double least = 0.95;
constexpr double most = 1.05;

using Counter = std::function<std::uint64_t()>;
Counter sent_at(const std::string& interface) {
  return [=] { return Network::traffic(interface).sent; };
}
Counter received_at(const std::string& interface) {
  return [=] { return Network::traffic(interface).received; };
}

// How much `operation` counts of what it needs, on the rank where that is least and on the one where it is most. What
// an algorithm sends is the same each time; what the kernel sends again, because a crowded machine answered late, comes
// on top now and then: a round without that is what counts.
std::string counted_of_needed(const TcpBackend& comm, const Counter& counter, double needed,
                              const std::function<void()>& operation) {
  constexpr int rounds = 5;
  operation();  // Opens the connections.
  comm.barrier();
  double lowest = 0;
  double highest = std::numeric_limits<double>::max();
  for (int round = 0; round < rounds && highest > most; ++round) {
    const auto before = counter();
    comm.barrier();  // Nobody sends what counts before everybody has looked.
    operation();
    comm.barrier();
    const double ratio = static_cast<double>(counter() - before) / needed;
    lowest = comm.allreduce(ratio, ReduceOp::Min);
    highest = comm.allreduce(ratio, ReduceOp::Max);
  }
  return std::to_string(lowest) + " " + std::to_string(highest) + " ";
}

void expect_what_is_needed(std::istringstream& words, const std::string& what) {
  double lowest = 0;
  double highest = 0;
  ASSERT_TRUE(words >> lowest >> highest) << what << ": " << words.str();
  EXPECT_GT(lowest, least) << what;
  EXPECT_LT(highest, most) << what;
  std::printf(" %.3f |", highest);
}

std::string allreduce_of_needed(const TcpBackend& comm, const std::string& interface) {
  std::vector<double> data(elements, 1.0);
  const auto size = static_cast<double>(comm.size());
  return counted_of_needed(comm, sent_at(interface), 2 * (size - 1) / size * bytes,
                           [&] { comm.allreduce_inplace(data, ReduceOp::Sum); });
}

std::string allgatherv_of_needed(const TcpBackend& comm, const std::string& interface) {
  const std::vector<double> mine(elements / comm.size(), 2.0);
  const auto others = static_cast<double>(comm.size() - 1);
  return counted_of_needed(comm, sent_at(interface), others * static_cast<double>(mine.size() * sizeof(double)),
                           [&] { (void)comm.allgatherv(mine); });
}

// What a rank lacks is what it receives, in whichever way. What it sends is what others lack, and depends on the way:
// in a ring it is what the next one does.
std::string allgatherv_of_unequal_parts(const TcpBackend& comm, const std::string& interface) {
  const auto part_of = [](std::size_t rank) { return 1 + rank % 4; };
  std::size_t parts = 0;
  for (std::size_t rank = 0; rank < comm.size(); ++rank) parts += part_of(rank);
  const std::size_t unit = elements / parts;
  const std::vector<double> mine(unit * part_of(comm.rank()), 2.0);
  const auto lacking = static_cast<double>((parts - part_of(comm.rank())) * unit * sizeof(double));
  return counted_of_needed(comm, received_at(interface), lacking, [&] { (void)comm.allgatherv(mine); });
}

std::string row_of_the_table(const TcpBackend& comm, const std::string& interface) {
  return allreduce_of_needed(comm, interface) + allgatherv_of_needed(comm, interface) +
         allgatherv_of_unequal_parts(comm, interface);
}

// All say the same.
std::istringstream last_words(std::vector<test::Process>& ranks) {
  std::string said;
  for (auto& rank : ranks) said = rank.words();
  return std::istringstream(said);
}

void expect_row_of_the_table(std::vector<test::Process>& ranks, const std::string& name) {
  std::istringstream words = last_words(ranks);
  std::printf("| %s |", name.c_str());
  for (const char* what : {"allreduce", "allgatherv", "allgatherv of unequal parts"}) {
    expect_what_is_needed(words, name + " ranks, " + what);
  }
  std::printf("\n");
}

constexpr const char* rate = "10gbit";

std::vector<std::size_t> one_on_each_of(std::size_t hosts) {
  std::vector<std::size_t> host_of(hosts);
  std::iota(host_of.begin(), host_of.end(), std::size_t{0});
  return host_of;
}

TEST(TcpBytes, OfLargeMessagesAreWhatTheAlgorithmsNeed) {
  for (const std::size_t size : {2U, 3U, 4U, 8U, 16U}) {
    const Network network(size);
    for (std::size_t host = 0; host < size; ++host) network.limit(host, rate);
    auto ranks =
        start_on(network, one_on_each_of(size), [](const TcpBackend& comm) { return row_of_the_table(comm, "eth0"); });
    expect_row_of_the_table(ranks, std::to_string(size));
  }
}

// What is on its way while nobody answers yet is not sent again.
TEST(TcpBytes, OfLargeMessagesAreTheSameThroughADelay) {
  constexpr auto delay = 100us;
  for (const std::size_t size : {2U, 4U, 8U, 16U}) {
    const Network network(size);
    const LossyLink link(network, {.delay = delay, .packet_bytes = 9000}, size);
    for (std::size_t host = 0; host < size; ++host) network.limit(host, rate, LossyLink::interface);
    const auto across = [](TcpConfig& config) { config.coordinator = LossyLink::address(0); };
    const auto body = [&](const TcpBackend& comm) -> std::string {
      constexpr int barriers = 100;
      const auto begin = test::Clock::now();
      for (int i = 0; i < barriers; ++i) comm.barrier();
      // To the first the other ones may have come before.
      if (test::Clock::now() - begin < (barriers - 1) * delay) return "not delayed";
      return row_of_the_table(comm, LossyLink::interface);
    };
    auto ranks = start_on(network, one_on_each_of(size), body, across);
    expect_row_of_the_table(ranks, std::to_string(size) + ", delayed");
  }
}

// Several ranks a host: between them nothing takes the network, and each host sends what one rank would.
TEST(TcpBytes, OfSeveralRanksOnAHostAreThoseOfOne) {
  const Network network(2);
  auto ranks = start_on(network, {0, 0, 1, 1}, [](const TcpBackend& comm) -> std::string {
    std::vector<double> data(elements, 1.0);
    const std::vector<double> mine(elements / comm.size(), 2.0);
    const Counter within_host = sent_at("lo");
    const auto before = within_host();
    const auto reduced =
        counted_of_needed(comm, sent_at("eth0"), bytes, [&] { comm.allreduce_inplace(data, ReduceOp::Sum); });
    const auto spread = counted_of_needed(comm, comm.rank() < 2 ? sent_at("eth0") : received_at("eth0"), bytes,
                                          [&] { comm.broadcast(data, 1); });
    const auto gathered = counted_of_needed(comm, sent_at("eth0"), bytes / 2, [&] { (void)comm.allgatherv(mine); });
    const double inside = static_cast<double>(within_host() - before) / bytes;
    return reduced + spread + gathered + std::to_string(comm.allreduce(inside, ReduceOp::Max));
  });
  std::istringstream words = last_words(ranks);
  std::printf("| 2 hosts of 2 |");
  for (const char* what : {"allreduce", "broadcast", "allgatherv"}) expect_what_is_needed(words, what);
  std::printf("\n");
  double inside = 1;
  EXPECT_TRUE(words >> inside) << words.str();
  EXPECT_LT(inside, 0.01) << words.str();
}

// Where the ranks of a host are no branch of the canonical tree, or do not follow each other, what has no order to keep
// still goes once to each host, and inside of it through memory.
TEST(TcpBytes, OfWhatIsOnlyMovedCrossOnceToEachHostHoweverTheRanksLie) {
  const Network network(2);
  for (const std::vector<std::size_t>& host_of : {std::vector<std::size_t>{0, 0, 0, 1, 1, 1}, {0, 1, 0, 1}}) {
    auto ranks = start_on(network, host_of, [&](const TcpBackend& comm) -> std::string {
      std::vector<double> data(elements, 1.0);
      const std::vector<double> mine(elements / comm.size(), 2.0);
      const bool with_root = host_of[comm.rank()] == host_of[2];
      const Counter within_host = sent_at("lo");
      const auto before = within_host();
      const auto spread = counted_of_needed(comm, with_root ? sent_at("eth0") : received_at("eth0"), bytes,
                                            [&] { comm.broadcast(data, 2); });
      const auto gathered = counted_of_needed(comm, sent_at("eth0"), bytes / 2, [&] { (void)comm.allgatherv(mine); });
      const double inside = static_cast<double>(within_host() - before) / bytes;
      return spread + gathered + std::to_string(comm.allreduce(inside, ReduceOp::Max));
    });
    std::istringstream words = last_words(ranks);
    std::printf("| %zu ranks on 2 hosts |", host_of.size());
    for (const char* what : {"broadcast", "allgatherv"}) expect_what_is_needed(words, what);
    std::printf("\n");
    double inside = 1;
    EXPECT_TRUE(words >> inside) << words.str();
    EXPECT_LT(inside, 0.01) << words.str();
  }
}

}  // namespace
