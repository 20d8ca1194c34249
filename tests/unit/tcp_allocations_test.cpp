// An operation that was done once takes no memory when it is done again: not over sockets alone, nor where hosts work
// as one rank each. What other threads of the process take is not on its path. And strangers cost a place at the door,
// whatever they say there.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "comm/backends/tcp/reception.hpp"
#include "support/allocator.hpp"
#include "support/tcp_ranks.hpp"
#include "unit/tcp_visits.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::TcpBackend;
using test::allocated_bytes;
using test::allocations;
using test::allocations_of;

TEST(Allocations, AreCountedHere) {
  EXPECT_EQ(allocations_of([] { ::operator delete(::operator new(1)); }), 1U);
}

// Which operations took memory when they were done again and again.
std::string what_allocates(const TcpBackend& comm, std::size_t count) {
  const std::size_t size = comm.size();
  std::vector<double> part(count, 1.0);
  std::vector<double> other(count);
  std::vector<double> all(count * size, 1.0);
  std::vector<double> all_others(count * size);
  const std::vector<std::size_t> counts(size, count);
  std::vector<std::size_t> displs(size);
  for (std::size_t rank = 0; rank < size; ++rank) displs[rank] = rank * count;
  const std::vector<std::pair<std::string, std::function<void()>>> operations{
      {"barrier", [&] { comm.barrier(); }},
      {"broadcast", [&] { comm.broadcast(part, 1); }},
      {"allreduce", [&] { comm.allreduce(part, other, ReduceOp::Sum); }},
      {"allreduce of what is exact", [&] { comm.allreduce(part, other, ReduceOp::Max); }},
      {"allgatherv", [&] { comm.allgatherv(part, all, counts, displs); }},
      {"gather", [&] { comm.gather(part, all, 0); }},
      {"scatter", [&] { comm.scatter(all, part, 1); }},
      {"alltoall", [&] { comm.alltoall(all, all_others); }},
      {"reduce", [&] { comm.reduce(part, other, ReduceOp::Sum, 0); }},
      {"scan", [&] { comm.scan(part, other, ReduceOp::Sum); }},
      {"reduce_scatter_block", [&] { comm.reduce_scatter_block(all, other, ReduceOp::Sum); }}};
  std::string words;
  for (const auto& [name, operation] : operations) {
    for (int warming = 0; warming < 2; ++warming) operation();
    const auto before = allocations;
    for (int again = 0; again < 4; ++again) operation();
    if (allocations != before) words += name + " of " + std::to_string(count) + ", ";
  }
  return words;
}

std::string what_allocates_at_any_length(const TcpBackend& comm) {
  std::string words;
  for (const std::size_t count : {std::size_t{1}, std::size_t{3'000}, std::size_t{200'000}}) {
    words += what_allocates(comm, count);
  }
  return words;
}

TEST(TcpOperations, OverSocketsTakeNoMemoryOnceTheyAreWarm) {
  auto ranks = test::start_ranks(test::tcp_configs(3), what_allocates_at_any_length);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "");
}

template <class Body>
auto start_two_hosts_of_two(Body body) {
  const auto configs = test::tcp_configs(4, [](auto& config) { config.shared_memory = true; });
  const auto make = [configs](std::size_t rank) {
    test::enter_host(rank < 2 ? "first" : "second");
    return TcpBackend::connect(configs[rank]);
  };
  return test::start_group(configs.size(), make, body);
}

TEST(TcpOperations, OfHostsAsOneRankEachTakeNoMemoryOnceTheyAreWarm) {
  auto ranks = start_two_hosts_of_two(what_allocates_at_any_length);
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "");
}

// Results may fill the memory: there is no room for another copy of them.
TEST(TcpOperations, OfHostsGatherPartsInRankOrderWithoutACopyOfThem) {
  auto ranks = start_two_hosts_of_two([](const TcpBackend& comm) {
    const std::vector<std::size_t> counts{150'000, 0, 250'000, 100'000};
    const std::vector<std::size_t> displs{7, 0, 150'007, 400'007};
    const auto value = [](std::size_t rank, std::size_t i) { return static_cast<double>(rank * 1'000'000 + i); };
    std::vector<double> part(counts[comm.rank()]);
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = value(comm.rank(), i);
    std::vector<double> all(500'010, -1.0);
    std::vector<double> in_place = all;
    std::ranges::copy(part, in_place.begin() + static_cast<std::ptrdiff_t>(displs[comm.rank()]));
    const std::size_t before = allocated_bytes;
    comm.allgatherv(part, all, counts, displs);
    comm.allgatherv_inplace(in_place, counts, displs);
    const std::size_t taken = allocated_bytes - before;

    std::vector<double> expected(all.size(), -1.0);
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      for (std::size_t i = 0; i < counts[rank]; ++i) expected[displs[rank] + i] = value(rank, i);
    }
    std::string words;
    if (all != expected) words += "wrong parts; ";
    if (in_place != expected) words += "wrong parts in place; ";
    if (taken >= all.size() * sizeof(double) / 2) words += "took " + std::to_string(taken) + " bytes; ";
    return words;
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "");
}

using namespace cobre::comm::tcp;
using namespace std::chrono_literals;

TEST(TcpAcceptance, TakesNoMemoryForAStranger) {
  const Key key = key_from_secret("the job");
  Challenge challenge;
  challenge.nonce = random_bytes();
  std::string words(reinterpret_cast<const char*>(&challenge), sizeof challenge);
  words.resize(words.size() + sizeof(Proof), 'x');
  const auto before = allocations;
  Acceptance acceptance(key);
  for (const char c : words) {
    ASSERT_EQ(acceptance.state(), Acceptance::State::Reading);
    acceptance.wanted().front() = static_cast<std::byte>(c);
    (void)acceptance.advance(1);
  }
  EXPECT_EQ(acceptance.state(), Acceptance::State::Failed);
  EXPECT_EQ(allocations - before, 0U);
}

TEST(TcpReception, TakesNoMoreMemoryForAStrangerTheMoreItSays) {
  std::vector<cobre::comm::core::Descriptor> doors;
  doors.push_back(open_listener(resolve("127.0.0.1", 0).addresses.at(0), 8).socket);
  const Address here = Address::local_of(doors.front().get());
  Reception reception(key_from_secret("the job"), std::move(doors), 8);
  Challenge challenge;
  challenge.nonce = random_bytes();
  const std::string good_start(reinterpret_cast<const char*>(&challenge), sizeof challenge);
  std::size_t strangers = 0;
  for (const std::string& words : {std::string(), std::string(1, 'x'), std::string(sizeof(Challenge), 'x'), good_start,
                                   good_start + std::string(100'000, 'x'), std::string(100'000, 'x')}) {
    {
      const auto visitor = test::knock(here);
      (void)send_all(visitor.get(), std::as_bytes(std::span(words)), Clock::now() + 1s);
    }
    const auto before = allocations;
    const auto deadline = Clock::now() + 5s;
    while (reception.strangers() == strangers && Clock::now() < deadline) EXPECT_TRUE(reception.serve().empty());
    EXPECT_EQ(allocations - before, 1U) << "its place, after " << words.size() << " bytes";
    EXPECT_EQ(reception.strangers(), ++strangers);
  }
}

}  // namespace
