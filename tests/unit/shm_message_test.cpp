// Long messages, which both ends copy: of every length, and with receives that give up in the middle.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ShmBackend;
using test::run_threads;
using test::shm_configs;
using namespace std::chrono_literals;

// Every byte says where it belongs, up to far more than a piece.
std::vector<std::uint8_t> message_of(std::size_t bytes, std::size_t round) {
  std::vector<std::uint8_t> message(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    message[i] = static_cast<std::uint8_t>((i + 1) * (round + 1) * 2654435761U >> 24);
  }
  return message;
}

TEST(ShmMessages, OfEveryLengthArriveWhole) {
  constexpr std::size_t page = 4096;
  const std::vector<std::size_t> lengths{16 * page - 33, 16 * page,      16 * page + 1,   24 * page + 7,
                                         32 * page - 1,  64 * page + 65, 256 * page - 15, 700 * page + 1};
  run_threads(shm_configs(3), [&](const ShmBackend& comm) {
    const auto to = comm.channel((comm.rank() + 1) % 3, 0);
    const auto from = comm.channel((comm.rank() + 2) % 3, 0);
    for (std::size_t round = 0; round < lengths.size(); ++round) {
      const auto expected = message_of(lengths[round], round);
      std::vector<std::uint8_t> got(lengths[round]);
      // One waits while the other copies, and one passes on what it has just got.
      if (comm.rank() == 0) to.send(expected);
      from.recv(got);
      EXPECT_TRUE(got == expected) << lengths[round] << " bytes";
      if (comm.rank() != 0) to.send(got);
    }
  });
}

// A receive that is over leaves its buffer to its owner at once, and its message to the next receive.
TEST(ShmMessages, OutliveReceivesThatGiveUpAtAnyMoment) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  run_threads(shm_configs(2), [&](const ShmBackend& comm) {
    const auto channel = comm.channel(1 - comm.rank(), 0);
    for (std::size_t round = 0; round < 10; ++round) {
      const auto expected = message_of(bytes, round);
      if (comm.rank() == 0) {
        channel.send(expected);
        continue;
      }
      std::vector<std::uint8_t> got(bytes);
      for (auto patience = 20us * (round + 1);; patience *= 2) {
        try {
          channel.recv(got, patience);
          break;
        } catch (const cobre::comm::TimedOut&) {
          std::ranges::fill(got, std::uint8_t{0xee});
        }
      }
      EXPECT_TRUE(got == expected) << "round " << round;
    }
  });
}

}  // namespace
