// Deaths, and memory that cannot be reached, that only shared memory knows.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "support/control_groups.hpp"
#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;
using test::eventually;
using test::outcome_of;
using test::shm_configs;
using test::start_ranks;

struct Board {
  std::atomic<int> ready{0};
};

// More than its control group allows. Where this user cannot make one, the rank sends itself the signal that the kernel
// would have sent.
TEST(ShmDeath, ForWantOfMemoryIsNamedAsTheKernelsKill) {
  constexpr std::size_t allowed = std::size_t{64} << 20;
  const test::MemoryGroup group(allowed);
  const auto eat = [&] {
    while (group.usable() && group.join()) {
      void* const meal = mmap(nullptr, allowed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (meal == MAP_FAILED) break;
      std::memset(meal, 1, allowed);
    }
    raise(SIGKILL);
  };
  test::Shared<test::Meeting> met;
  auto ranks = start_ranks(shm_configs(3), [&](const ShmBackend& comm) -> std::string {
    comm.barrier();
    met->wait_for(3);
    if (comm.rank() == 1) eat();
    return outcome_of([&] { comm.barrier(); });
  });
  for (const std::size_t rank : {0U, 2U}) EXPECT_EQ(ranks[rank].words(), "PeerFailed 1 signal 9");
  if (group.usable()) {
    EXPECT_EQ(group.killed(), 1);
  }
}

TEST(ShmDeath, InTheMiddleOfALargeCopyIsPeerFailedAndNotGarbage) {
  for (const auto single_copy : {cobre::comm::SingleCopy::Auto, cobre::comm::SingleCopy::Off}) {
    for (int round = 0; round < 6; ++round) {
      test::Shared<Board> board;
      auto ranks = start_ranks(shm_configs(3, [&](auto& config) { config.single_copy = single_copy; }),
                               [&](const ShmBackend& comm) -> std::string {
                                 std::vector<double> data(2'000'000, 1.0);
                                 std::vector<double> sum(data.size());
                                 comm.barrier();
                                 ++board->ready;
                                 return outcome_of([&] {
                                   for (;;) {
                                     comm.allreduce(data, sum, ReduceOp::Sum);
                                     if (sum.front() != 3.0 || sum.back() != 3.0) throw std::runtime_error("garbage");
                                     comm.broadcast(data, 1);
                                   }
                                 });
                               });
      eventually([&] { return board->ready == 3; });
      std::this_thread::sleep_for(std::chrono::milliseconds(3 + 7 * round));
      const auto victim = static_cast<std::size_t>(round % 3);
      ranks[victim].signal(SIGKILL);
      for (std::size_t rank = 0; rank < 3; ++rank) {
        if (rank == victim) continue;
        EXPECT_EQ(ranks[rank].words(), "PeerFailed " + std::to_string(victim) + " signal 9");
      }
    }
  }
}

// Such as memory of a device: the sender need not touch it, and the kernel does not read it for others.
TEST(ShmMessage, FromMemoryThatCannotBeReadIsAnErrorAndNoHang) {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
    if (!comm.uses_single_copy()) return "no single copy here";
    const auto channel = comm.channel(1 - comm.rank(), 0);
    void* const memory =
        mmap(nullptr, bytes, comm.rank() == 0 ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const std::span message(static_cast<std::byte*>(memory), bytes);
    try {
      comm.rank() == 0 ? channel.send(message) : channel.recv(message);
      return "fine";
    } catch (const cobre::comm::CommError& error) {
      return error.what();
    }
  });
  const std::string receiver = ranks[1].words();
  EXPECT_NE(receiver.find("the memory of rank 0 cannot be read any more; switch single_copy off"), std::string::npos)
      << receiver;
  EXPECT_NE(ranks[0].words(), "fine");
}

}  // namespace
