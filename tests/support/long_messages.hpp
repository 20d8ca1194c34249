// Messages of any length between two ranks, and what of them arrives: blocking, both ways at once, and to oneself.
// Written once for all backends, and for lengths beyond what lies between the ranks as for those beyond 32 bits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace test {

using Message = std::vector<std::uint8_t>;

/// Of a length that no piece of a message has, so that a piece in the wrong place is seen; different for every rank.
inline Message pattern_of(std::size_t rank) {
  Message block(1'000'003);
  for (std::size_t i = 0; i < block.size(); ++i) {
    block[i] = static_cast<std::uint8_t>((i + 1) * (rank + 3) * 2654435761U >> 24);
  }
  return block;
}

inline Message message_of(std::size_t rank, std::size_t bytes) {
  const Message block = pattern_of(rank);
  Message message(bytes);
  for (std::size_t first = 0; first < bytes; first += block.size()) {
    std::memcpy(message.data() + first, block.data(), std::min(block.size(), bytes - first));
  }
  return message;
}

/// Whether it is that block, again and again.
inline std::string compared(const Message& got, const Message& block) {
  for (std::size_t first = 0; first < got.size(); first += block.size()) {
    if (std::memcmp(got.data() + first, block.data(), std::min(block.size(), got.size() - first)) != 0) {
      return "wrong after " + std::to_string(first) + " bytes";
    }
  }
  return "fine";
}
inline std::string judged(const Message& got, std::size_t sender) {
  return compared(got, pattern_of(sender));
}

/// From rank 0 to rank 1, both of which wait.
template <class Comm>
std::string one_way(const Comm& comm, std::size_t bytes) {
  const auto channel = comm.channel(1 - comm.rank(), 3);
  if (comm.rank() == 0) {
    channel.send(message_of(0, bytes));
    return "fine";
  }
  Message got(bytes);
  channel.recv(got);
  return judged(got, 0);
}

/// Each to the other at once, without waiting; the one borrowed, the other given away.
template <class Comm>
std::string both_ways(const Comm& comm, std::size_t bytes) {
  const std::size_t peer = 1 - comm.rank();
  const auto channel = comm.channel(peer, 3);
  const Message message = message_of(comm.rank(), bytes);
  auto coming = channel.irecv(Message(bytes));
  auto going = channel.isend(message);
  going.wait();
  return judged(coming.get(), peer);
}

/// From a rank to itself.
template <class Comm>
std::string to_itself(const Comm& comm, std::size_t bytes) {
  const auto channel = comm.channel(comm.rank(), 3);
  const Message message = message_of(comm.rank(), bytes);
  auto going = channel.isend(message);
  Message got(bytes);
  channel.recv(got);
  going.wait();
  return judged(got, comm.rank());
}

/// All of them, the longest one way only: it takes two buffers, the others four.
template <class Comm>
std::string every_long_message(const Comm& comm, std::size_t bytes, std::size_t longest) {
  std::string outcome = "one way: " + one_way(comm, longest);
  outcome += ", both ways: " + both_ways(comm, bytes);
  return outcome + ", to itself: " + (comm.rank() == 0 ? to_itself(comm, bytes) : "fine");
}
inline constexpr const char* all_arrived = "one way: fine, both ways: fine, to itself: fine";

/// Of ranks that were started with it.
template <class Ranks>
void expect_all_arrived(Ranks ranks, std::chrono::seconds longest = std::chrono::seconds(40)) {
  for (auto& rank : ranks) EXPECT_EQ(rank.words(longest), all_arrived);
}

}  // namespace test
