// Messages whose other end dies, leaves, or never listens: whoever waits learns who it was, and nothing hangs.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fault/on_backends.hpp"

namespace {

using cobre::comm::CommBackend;
using test::eventually;
using test::outcome_of;
using namespace std::chrono_literals;

class ChannelFault : public fault::OnBackends {};

INSTANTIATE_TEST_SUITE_P(On, ChannelFault, testing::ValuesIn(fault::layouts()), fault::name_of);

struct Board {
  std::atomic<int> ready{0};
};

constexpr std::size_t large = std::size_t{8} << 20;  // more than any pipe or socket takes at once

TEST_P(ChannelFault, AReceiverLearnsThatItsPeerWasKilled) {
  for (const auto before : {0ms, 60ms}) {  // while the others still spin, and while they sleep
    test::Shared<Board> board;
    auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
      if (comm.rank() == 1) {
        eventually([&] { return board->ready == 2; });
        std::this_thread::sleep_for(before);
        raise(SIGKILL);
      }
      const auto channel = comm.channel(1, 0);
      ++board->ready;
      return outcome_of([&] { (void)channel.template recv<int>(); }).substr(0, 12);
    });
    EXPECT_EQ(ranks[0].words(), "PeerFailed 1");
    EXPECT_EQ(ranks[2].words(), "PeerFailed 1");
  }
}

TEST_P(ChannelFault, ASenderLearnsThatItsPeerWasKilled) {
  test::Shared<Board> board;
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    if (comm.rank() == 1) {
      eventually([&] { return board->ready == 1; });
      std::this_thread::sleep_for(30ms);
      raise(SIGKILL);
    }
    const std::vector<std::byte> message(large);
    ++board->ready;
    return outcome_of([&] { comm.send(message, 1); }).substr(0, 12);
  });
  EXPECT_EQ(ranks[0].words(), "PeerFailed 1");
}

// One death, and each of the others in another call.
TEST_P(ChannelFault, WhoeverWaitsForARequestOrForBothOrLooksAgainAndAgainLearnsThatItsPeerWasKilled) {
  for (const auto before : {0ms, 60ms}) {  // while the others still spin, and while they sleep
    test::Shared<Board> board;
    auto ranks = start(5, [&](const CommBackend& comm) -> std::string {
      if (comm.rank() == 1) {
        eventually([&] { return board->ready == 4; });
        std::this_thread::sleep_for(before);
        raise(SIGKILL);
      }
      const auto channel = comm.channel(1, 0);
      const std::vector<std::byte> message(large);
      std::vector<std::byte> room(large);
      ++board->ready;
      const std::string outcome = outcome_of([&] {
        switch (comm.rank()) {
          case 0: return channel.irecv(room).wait();
          case 2: return channel.isend(message).wait();
          case 3: return channel.sendrecv(message, room);
          default: eventually([&] { return channel.try_recv(room).has_value(); });
        }
      });
      return outcome.substr(0, 12);
    });
    for (const std::size_t rank : {0U, 2U, 3U, 4U}) EXPECT_EQ(ranks[rank].words(), "PeerFailed 1") << "rank " << rank;
  }
}

TEST_P(ChannelFault, WhatAPeerSentBeforeItLeftStillArrives) {
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    const auto channel = comm.channel(1 - comm.rank(), 5);
    if (comm.rank() == 1) {
      for (int i = 1; i <= 3; ++i) channel.send(i);
      return "left";
    }
    std::this_thread::sleep_for(100ms);
    int sum = 0;
    for (int i = 0; i < 3; ++i) sum += channel.template recv<int>();
    return std::to_string(sum) + " " + outcome_of([&] { (void)channel.template recv<int>(); });
  });
  EXPECT_EQ(ranks[1].words(), "left");
  const std::string words = ranks[0].words();
  EXPECT_EQ(words.substr(0, 14), "6 PeerFailed 1") << words;
}

TEST_P(ChannelFault, ALookFindsWhatAPeerSentBeforeItLeftBehindHundredsOfOtherMessages) {
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    const auto others = comm.channel(1 - comm.rank(), 1);
    const auto last = comm.channel(1 - comm.rank(), 2);
    constexpr int count = 400;
    if (comm.rank() == 1) {
      for (int i = 0; i < count; ++i) others.send(i);
      last.send(7);
      return "left";
    }
    std::this_thread::sleep_for(100ms);
    std::optional<int> found;
    while (!found) found = last.template try_recv<int>();
    for (int i = 0; i < count; ++i) {
      if (others.template recv<int>() != i) return "out of order";
    }
    return std::to_string(*found);
  });
  EXPECT_EQ(ranks[1].words(), "left");
  EXPECT_EQ(ranks[0].words(), "7");
}

// A connection that is closed with something unread on it would take along what the kernel has not delivered yet.
TEST_P(ChannelFault, WhatARankSentArrivesAlthoughItLeavesWithMessagesUnread) {
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    cobre::comm::set_warning_sink([](std::string_view) {});  // of what is unread
    const auto channel = comm.channel(1 - comm.rank(), 5);
    constexpr int parts = 20;
    std::vector<int> part(25'000);
    if (comm.rank() == 1) {
      comm.barrier();
      for (int i = 0; i < parts; ++i) {
        std::ranges::fill(part, i);
        channel.send(part);
      }
      return "left";
    }
    channel.send(1);
    comm.barrier();
    std::this_thread::sleep_for(50ms);
    channel.send(2);  // while the other one leaves, or is gone
    for (int i = 0; i < parts; ++i) {
      const std::string outcome = outcome_of([&] { channel.recv(part); });
      if (outcome != "fine") return "part " + std::to_string(i) + ": " + outcome;
      if (std::ranges::count(part, i) != std::ssize(part)) return "garbage";
    }
    return "all";
  });
  EXPECT_EQ(ranks[1].words(), "left");
  EXPECT_EQ(ranks[0].words(), "all");
}

TEST_P(ChannelFault, AMessageThatNobodyReadsIsReportedAndHoldsNobodyUp) {
  const auto make = GetParam().ranks(2, {});
  test::Process sender([&]() -> std::string {
    const CommBackend comm = make[0]();
    comm.channel(1, 77).send(std::array{1.0, 2.0});
    comm.barrier();
    return "sent";
  });
  test::Process reader([&]() -> std::string {
    std::string warnings;
    cobre::comm::set_warning_sink([&](std::string_view line) { warnings += line; });
    {
      const CommBackend comm = make[1]();
      comm.barrier();
    }  // the warning comes when the communicator ends
    cobre::comm::set_warning_sink({});
    return warnings;
  });
  EXPECT_EQ(sender.words(), "sent");
  EXPECT_EQ(reader.words(),
            "rank 1 of 2 ends without having received 1 message from rank 0 with tag 77 (16 bytes); receive every "
            "message that is sent");
}

TEST_P(ChannelFault, ASendThatTimesOutHalfWayEndsItsDirectionAndNothingElse) {
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    const auto channel = comm.channel(1 - comm.rank(), 0);
    if (comm.rank() == 0) {
      const std::vector<std::byte> message(large);
      std::string words = outcome_of([&] { channel.send(message, 50ms); });
      words += ", " + outcome_of([&] { channel.send(1); });
      comm.barrier();
      return words + ", " + std::to_string(channel.template recv<int>());
    }
    comm.barrier();
    channel.send(9);
    std::vector<std::byte> room(large);
    return outcome_of([&] { channel.recv(room); }).substr(0, 5);
  });
  EXPECT_EQ(ranks[0].words(), "TimedOut 1, InvalidCommunicator, 9");
  const std::string words = ranks[1].words();
  EXPECT_TRUE(words == "other" || words == "PeerF") << words;
}

TEST_P(ChannelFault, ASendrecvThatTimesOutLosesNothingThatHasCome) {
  test::Shared<Board> board;
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    const auto channel = comm.channel(1 - comm.rank(), 0);
    if (comm.rank() == 1) {
      channel.send(7);
      channel.send(8);
      eventually([&] { return board->ready == 1; });
      return "sent";
    }
    const std::vector<std::byte> message(large);
    std::vector<int> room(1);
    std::string words = outcome_of([&] { channel.sendrecv(message, room, 100ms); });
    for (int i = 0; i < 2; ++i) words += ", " + std::to_string(channel.template recv<int>());
    ++board->ready;
    return words;
  });
  EXPECT_EQ(ranks[1].words(), "sent");
  EXPECT_EQ(ranks[0].words(), "TimedOut 1, 7, 8");
}

TEST_P(ChannelFault, ASendrecvWaitsForBothNoLongerThanTheTimeout) {
  test::Shared<Board> board;
  auto ranks = start(2,
                     [&](const CommBackend& comm) -> std::string {
                       const auto channel = comm.channel(1 - comm.rank(), 0);
                       std::vector<std::byte> message(large);
                       if (comm.rank() == 1) {
                         std::this_thread::sleep_for(500ms);
                         (void)outcome_of([&] { channel.recv(message); });
                         eventually([&] { return board->ready == 1; });
                         return "taken";
                       }
                       std::array<int, 1> room{};
                       const auto begin = std::chrono::steady_clock::now();
                       double said = 0;
                       try {
                         channel.sendrecv(message, room);
                       } catch (const cobre::comm::TimedOut& error) {
                         said = error.waited_seconds();
                       }
                       const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
                       ++board->ready;
                       if (said >= 0.8 && said <= waited.count() && waited < 1.2s) return "in time";
                       return std::to_string(waited.count()) + " s, and says " + std::to_string(said);
                     },
                     {.timeout = 800ms});
  EXPECT_EQ(ranks[0].words(), "in time");
  EXPECT_EQ(ranks[1].words(), "taken");
}

// The owner of a message may write over it as soon as its send has ended, in whichever way.
TEST_P(ChannelFault, ASendThatIsGivenUpAtAnyMomentDeliversAllOrNothing) {
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    int delivered = 0;
    int given_up = 0;
    std::vector<unsigned char> message(large);
    constexpr int rounds = 40;
    for (int round = 0; round < rounds; ++round) {
      const bool too_late = round == 0;  // for whoever receives: the send has been given up
      const auto patience = round + 1 < rounds ? std::chrono::microseconds(100 * round) : 20s;
      const auto twin = comm.duplicate();
      const auto channel = twin.channel(1 - comm.rank(), 0);
      const auto value = static_cast<unsigned char>(1 + round);
      std::fill(message.begin(), message.end(), comm.rank() == 0 ? value : 0);
      twin.barrier();
      if (too_late && comm.rank() == 1) comm.barrier();
      const std::string outcome = outcome_of([&] {
        if (comm.rank() == 0) {
          channel.send(message, patience);
        } else {
          channel.recv(message);
        }
      });
      if (too_late && comm.rank() == 0) comm.barrier();
      ++(outcome == "fine" ? delivered : given_up);
      const bool right = message == std::vector(large, value);
      if (comm.rank() == 1 && outcome == "fine" && !right) return "garbage in round " + std::to_string(round);
      std::fill(message.begin(), message.end(), 0xee);
      comm.barrier();  // who received may find out late that nothing more comes
    }
    // The network's buffers may take so much that no send had to be given up.
    const bool both = delivered > 0 && (given_up > 0 || std::string(GetParam().name) != "Shm");
    return comm.rank() == 0 || both ? "fine" : std::to_string(delivered) + " delivered";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

std::string outcome_of_dropping(const CommBackend& comm, const std::vector<std::byte>& message) {
  return outcome_of([&] {
    const auto channel = comm.channel(1 - comm.rank(), 3);
    const auto receiving = channel.irecv(std::vector<int>(1));
    const auto sending = channel.isend(message);
    throw std::runtime_error("of something else");
  });
}

TEST_P(ChannelFault, AnExceptionThatDropsARequestWaitsNoLongerThanAMomentForAPeerThatDoesNotCome) {
  test::Shared<Board> board;
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    const auto channel = comm.channel(1 - comm.rank(), 3);
    std::vector<std::byte> message(large);
    if (comm.rank() == 1) {
      eventually([&] { return board->ready == 1; });
      comm.barrier();  // nothing but one direction of the messages is over
      channel.send(5);
      return outcome_of([&] { channel.recv(message); }).substr(0, 5);
    }
    std::string warnings;
    cobre::comm::set_warning_sink([&](std::string_view line) { warnings += line; });
    std::string words = outcome_of_dropping(comm, message);
    cobre::comm::set_warning_sink({});
    ++board->ready;
    comm.barrier();
    words += ", " + outcome_of([&] { channel.send(1); });
    return words + ", " + std::to_string(channel.template recv<int>()) + ", " + warnings;
  });
  EXPECT_EQ(ranks[0].words(),
            "other: of something else, InvalidCommunicator, 5, isend on rank 0 of 2: rank 1 did not take a message of "
            "8388608 bytes with tag 3 in time, and an exception drops its request; it is given up, and nothing more "
            "can be sent there");
  const std::string words = ranks[1].words();
  EXPECT_TRUE(words == "other" || words == "PeerF") << words;
}

TEST_P(ChannelFault, AnExceptionThatDropsARequestLetsAPeerThatComesHaveItsMessage) {
  test::Shared<Board> board;
  auto ranks = start(2, [&](const CommBackend& comm) -> std::string {
    std::vector<std::byte> message(large, std::byte{9});
    if (comm.rank() == 0) {
      eventually([&] { return board->ready == 1; });
      return outcome_of_dropping(comm, message);
    }
    std::vector<std::byte> room(large);
    ++board->ready;
    comm.channel(0, 3).recv(room);
    return room == message ? "all" : "garbage";
  });
  EXPECT_EQ(ranks[0].words(), "other: of something else");
  EXPECT_EQ(ranks[1].words(), "all");
}

TEST_P(ChannelFault, ADroppedSendWaitsNoLongerThanTheTimeout) {
  test::Shared<Board> board;
  auto ranks = start(2,
                     [&](const CommBackend& comm) -> std::string {
                       if (comm.rank() == 1) {
                         eventually([&] { return board->ready == 1; });
                         return "idle";
                       }
                       cobre::comm::set_warning_sink([](std::string_view) {});
                       const std::vector<std::byte> message(large);
                       { const auto dropped = comm.channel(1, 3).isend(message); }
                       ++board->ready;
                       return outcome_of([&] { comm.send(1, 1); });
                     },
                     {.timeout = 1s});
  EXPECT_EQ(ranks[0].words(), "InvalidCommunicator");
  EXPECT_EQ(ranks[1].words(), "idle");
}

TEST_P(ChannelFault, ACommunicatorThatFailedRefusesMessages) {
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    const auto channel = comm.channel(comm.rank() ^ 1U, 0);
    if (comm.rank() == 2) raise(SIGKILL);
    const std::string first = outcome_of([&] { comm.barrier(); }).substr(0, 12);
    return first + ", " + outcome_of([&] { channel.send(1); });
  });
  for (const std::size_t rank : {0U, 1U}) {
    const std::string words = ranks[rank].words();
    EXPECT_TRUE(words == "PeerFailed 2, InvalidCommunicator" || words.starts_with("PeerFailed 2, PeerFailed 2"))
        << words;
  }
}

}  // namespace
