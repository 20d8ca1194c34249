#pragma once

#include <cobre/comm.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/suite.hpp"
#include "conformance/values.hpp"

namespace conformance {

/// Ranks two by two; the last of an odd number, and a lonely one, with itself.
template <class C>
std::size_t partner_of(const C& comm) {
  const std::size_t partner = comm.rank() ^ 1U;
  return partner < comm.size() ? partner : comm.rank();
}
/// The lower one of a pair, which goes first; a rank that talks to itself is both.
template <class C>
bool goes_first(const C& comm) {
  return comm.rank() <= partner_of(comm);
}
template <class C>
bool goes_second(const C& comm) {
  return comm.rank() >= partner_of(comm);
}

template <class C>
void channel_misuse_cases(Suite<C>& suite) {
  using namespace std::chrono_literals;
  auto group = suite.group("ChannelMisuse");

  group.add("APeerOutsideTheCommunicatorIsRefused", [](const C& comm) {
    try {
      (void)comm.channel(comm.size(), 0);
      ADD_FAILURE() << "a channel to nobody";
    } catch (const cobre::comm::InvalidPeer& error) {
      EXPECT_EQ(error.peer(), comm.size());
      EXPECT_EQ(error.size(), comm.size());
      EXPECT_EQ(error.operation(), "channel");
    }
    EXPECT_THROW(comm.send(1, comm.size()), cobre::comm::InvalidPeer);
    EXPECT_THROW((void)comm.template recv<int>(comm.size()), cobre::comm::InvalidPeer);
    comm.barrier();
  });

  group.add("ATagThatCannotBeCarriedIsRefused", [](const C& comm) {
    const std::int64_t largest = comm.largest_tag();
    EXPECT_GE(largest, (1 << 14) - 1);
    for (const std::int64_t tag : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
      EXPECT_THROW((void)comm.channel(comm.rank(), tag), cobre::comm::InvalidTag);
    }
    if (largest < std::numeric_limits<std::int64_t>::max()) {
      try {
        comm.send(1, comm.rank(), largest + 1);
        ADD_FAILURE() << "a tag that is too large";
      } catch (const cobre::comm::InvalidTag& error) {
        EXPECT_EQ(error.tag(), largest + 1);
        EXPECT_EQ(error.largest(), largest);
      }
    }
    const auto channel = comm.channel(partner_of(comm), largest);
    std::array<std::size_t, 1> recv{};
    channel.sendrecv(std::array{comm.rank()}, recv);
    EXPECT_EQ(recv[0], partner_of(comm));
  });

  group.add("AMessageThatDoesNotFitStaysTheNextOne", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 3);
    if (goes_first(comm)) {
      channel.send(contribution<double>(1, 10, 1));
      channel.send(std::uint8_t{7});
    }
    if (!goes_second(comm)) return;
    std::vector<double> room(9);
    try {
      channel.recv(room);
      ADD_FAILURE() << "ten elements in a buffer of nine";
    } catch (const cobre::comm::InvalidBufferSize& error) {
      EXPECT_EQ(error.expected(), 10U);
      EXPECT_EQ(error.actual(), 9U);
    }
    EXPECT_THROW((void)channel.recv_some(room), cobre::comm::InvalidBufferSize);
    EXPECT_THROW((void)channel.try_recv(room), cobre::comm::InvalidBufferSize);
    room.resize(11);
    EXPECT_THROW(channel.recv(room), cobre::comm::InvalidBufferSize) << "a message that is shorter than asked for";
    room.resize(10);
    channel.recv(room);
    EXPECT_TRUE(all_same(room, contribution<double>(1, 10, 1)));
    EXPECT_THROW((void)channel.recv_some(room), cobre::comm::InvalidBufferSize) << "one byte is no double";
    EXPECT_EQ(channel.template recv<std::uint8_t>(), 7);
  });

  group.add("WaitingForOneselfIsAnErrorAndNoHang", [](const C& comm) {
    const auto channel = comm.channel(comm.rank(), 1);
    EXPECT_THROW((void)channel.template recv<int>(), cobre::comm::InvalidOperation);
    EXPECT_EQ(channel.template try_recv<int>(), std::nullopt);
    channel.send(5);
    EXPECT_EQ(channel.template recv<int>(), 5);
  });

  group.add("AReceiveThatTimesOutTakesNothing", [](const C& comm) {
    if (comm.size() == 1) return;
    const auto channel = comm.channel(partner_of(comm), 2);
    if (partner_of(comm) != comm.rank()) {
      std::array<int, 1> value{};
      try {
        channel.recv(value, 20ms);
        ADD_FAILURE() << "nothing was sent";
      } catch (const cobre::comm::TimedOut& error) {
        EXPECT_EQ(error.missing_ranks(), std::vector{partner_of(comm)});
        EXPECT_GE(error.waited_seconds(), 0.02);
      }
      EXPECT_THROW((void)channel.recv_some(value, 5ms), cobre::comm::TimedOut);
      EXPECT_THROW((void)channel.irecv(std::vector<int>(1)).get(5ms), cobre::comm::TimedOut);
      EXPECT_THROW((void)channel.template irecv<int>().get(5ms), cobre::comm::TimedOut);
    }
    comm.barrier();
    channel.send(static_cast<int>(comm.rank()));
    EXPECT_EQ(channel.template recv<int>(30s), static_cast<int>(partner_of(comm)));
  });
}

/// Receives whose message has come when they are dropped, and nobody has said so to their owner. Every rank takes what
/// comes by waiting for a message on another channel, which was sent later.
template <class C>
void dropped_receive_cases(Suite<C>& suite) {
  using namespace std::chrono_literals;
  auto group = suite.group("ChannelDrops");

  group.add("AReceiveThatIsDroppedUnheardLeavesTheMessageThatHasCome", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    const auto other = comm.channel(partner_of(comm), 2);
    for (const std::size_t count : {0U, 1U, 5'000U}) {
      std::optional dropped = channel.irecv(std::vector<double>(count));
      auto sending = channel.isend(contribution<double>(comm.rank(), count, 1));
      channel.send(7);
      other.send(8);
      EXPECT_EQ(other.template recv<int>(), 8);
      dropped.reset();
      std::vector<double> recv(count);
      channel.recv(recv);
      EXPECT_TRUE(all_same(recv, contribution<double>(partner_of(comm), count, 1)));
      EXPECT_EQ(channel.template recv<int>(), 7);
      sending.wait();
    }
  });

  group.add("ReceivesThatAreDroppedUnheardLeaveTheirMessagesInOrder", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    const auto other = comm.channel(partner_of(comm), 2);
    const std::vector<std::vector<std::size_t>> orders{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}};
    for (const auto& order : orders) {
      std::array<int, 3> room{};
      std::vector<cobre::comm::MailRequest> requests;
      for (int& place : room) requests.push_back(channel.irecv(std::span(&place, 1)));
      for (int i = 1; i <= 5; ++i) channel.send(10 * i);
      other.send(8);
      EXPECT_EQ(other.template recv<int>(), 8);
      for (const std::size_t one : order) requests[one] = cobre::comm::MailRequest();
      room = {};
      for (int i = 1; i <= 5; ++i) EXPECT_EQ(channel.template recv<int>(), 10 * i);
    }
    std::array<int, 2> room{};
    std::vector<cobre::comm::MailRequest> requests;
    for (int& place : room) requests.push_back(channel.irecv(std::span(&place, 1)));
    for (int i = 1; i <= 2; ++i) channel.send(i);
    other.send(8);
    EXPECT_EQ(other.template recv<int>(), 8);
    requests.clear();
    for (int i = 1; i <= 2; ++i) EXPECT_EQ(channel.template recv<int>(), i);
  });

  group.add("AReceiveThatTookWhatAnotherLeftMayLeaveItInItsPlaceToo", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    const auto other = comm.channel(partner_of(comm), 2);
    std::array<int, 2> room{};
    std::vector<cobre::comm::MailRequest> requests;
    for (int& place : room) requests.push_back(channel.irecv(std::span(&place, 1)));
    for (int i = 1; i <= 3; ++i) channel.send(i);
    other.send(8);
    EXPECT_EQ(other.template recv<int>(), 8);
    requests.clear();
    { const auto again = channel.irecv(std::span(room).first(1)); }
    for (int i = 1; i <= 3; ++i) EXPECT_EQ(channel.template recv<int>(), i);
  });

  group.add("WhatADroppedReceiveLeavesGoesToTheOneThatWaits", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    const auto other = comm.channel(partner_of(comm), 2);
    std::optional dropped = channel.irecv(std::vector<int>(1));
    auto waiting = channel.irecv(std::vector<int>(1));
    channel.send(5);
    other.send(8);
    EXPECT_EQ(other.template recv<int>(), 8);
    dropped.reset();
    EXPECT_EQ(waiting.get(), std::vector{5});
  });

  group.add("AReceiveThatTimedOutLeavesWhatComesBeforeItIsDropped", [](const C& comm) {
    const std::size_t partner = partner_of(comm);
    const auto channel = comm.channel(partner, 1);
    const auto other = comm.channel(partner, 2);
    std::optional dropped = channel.irecv(std::vector<int>(1));
    if (partner != comm.rank()) {
      EXPECT_THROW(dropped->wait(20ms), cobre::comm::TimedOut);
    }
    comm.barrier();
    channel.send(5);
    other.send(8);
    comm.barrier();
    EXPECT_EQ(other.template recv<int>(), 8);
    dropped.reset();
    EXPECT_EQ(channel.template recv<int>(), 5);
  });

  group.add("AReceiveWhoseOwnerHasHeardOfItTookItsMessage", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    const auto other = comm.channel(partner_of(comm), 2);
    std::array<int, 4> room{};
    for (const bool comes_first : {false, true}) {
      std::vector<cobre::comm::MailRequest> requests;
      for (int& place : room) requests.push_back(channel.irecv(std::span(&place, 1)));
      for (int i = 1; i <= 5; ++i) channel.send(i);
      if (comes_first) {  // so that there is nothing left to wait for
        other.send(8);
        EXPECT_EQ(other.template recv<int>(), 8);
      }
      requests[0].wait();
      while (!requests[1].test()) std::this_thread::yield();
      requests[2].wait();
      EXPECT_TRUE(requests[2].test());
      requests[3].wait(30s);
      requests.clear();
      EXPECT_EQ(room, (std::array{1, 2, 3, 4}));
      EXPECT_EQ(channel.template recv<int>(), 5);
    }
  });
}

template <class C>
void channel_request_cases(Suite<C>& suite) {
  auto group = suite.group("ChannelRequests");

  group.add("EveryPairTalksInBothDirectionsAtOnce", [](const C& comm) {
    std::vector<decltype(comm.channel(0, 0))> channels;
    std::vector<cobre::comm::MailRequest> requests;
    std::vector<std::vector<double>> out(comm.size());
    std::vector<std::vector<double>> in(comm.size());
    for (std::size_t peer = 0; peer < comm.size(); ++peer) {
      channels.push_back(comm.channel(peer, 9));
      out[peer] = contribution<double>(comm.rank(), 20'000 + 10 * peer, peer);
      in[peer].resize(20'000 + 10 * comm.rank());
      requests.push_back(channels[peer].irecv(in[peer]));
      requests.push_back(channels[peer].isend(out[peer]));
    }
    for (auto& request : requests) request.wait();
    for (std::size_t peer = 0; peer < comm.size(); ++peer) {
      EXPECT_TRUE(all_same(in[peer], contribution<double>(peer, in[peer].size(), comm.rank()))) << "from " << peer;
    }
  });

  group.add("OwnedContainersComeBackOnce", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    auto receiving = channel.irecv(std::vector<std::int32_t>(300));
    auto sending = channel.isend(contribution<std::int32_t>(comm.rank(), 300, 5));
    auto moved = std::move(receiving);
    EXPECT_TRUE(all_same(moved.get(), contribution<std::int32_t>(partner_of(comm), 300, 5)));
    EXPECT_TRUE(all_same(sending.get(), contribution<std::int32_t>(comm.rank(), 300, 5)));
    EXPECT_THROW((void)sending.get(), cobre::comm::InvalidOperation);
  });

  group.add("OneValueGoesAndComesWithoutABuffer", [](const C& comm) {
    using Pair = cobre::comm::ValueIndex<double>;
    const auto channel = comm.channel(partner_of(comm), 1);
    const auto own = static_cast<std::int32_t>(comm.rank());
    auto receiving = channel.template irecv<Pair>();
    auto sending = channel.isend(Pair{2.5, own});
    const Pair received = receiving.get();
    EXPECT_EQ(received.value, 2.5);
    EXPECT_EQ(received.index, static_cast<std::int32_t>(partner_of(comm)));
    EXPECT_EQ(sending.get().index, own);
    EXPECT_THROW((void)receiving.get(), cobre::comm::InvalidOperation);
    { const auto dropped = channel.template irecv<std::int32_t>(); }
    { const auto dropped = channel.isend(own); }
    EXPECT_EQ(channel.template recv<std::int32_t>(), static_cast<std::int32_t>(partner_of(comm)));
    EXPECT_EQ(channel.sendrecv(comm.rank()), partner_of(comm));
  });

  group.add("ARequestIsCompleteOnceItHasSaidSo", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    const auto other = comm.channel(partner_of(comm), 2);
    auto receiving = channel.irecv(std::vector<int>(1));
    const std::array message{7};
    auto sending = channel.isend(message);
    EXPECT_FALSE(receiving.is_complete());
    sending.wait();
    EXPECT_TRUE(sending.is_complete());
    other.send(8);
    EXPECT_EQ(other.template recv<int>(), 8);
    EXPECT_FALSE(receiving.is_complete()) << "its message has come, and nobody has said so";
    while (!receiving.test()) std::this_thread::yield();
    EXPECT_TRUE(receiving.is_complete());
    auto moved = channel.template irecv<int>();
    const auto taken = std::move(moved);
    EXPECT_TRUE(moved.is_complete());  // NOLINT(bugprone-use-after-move): what is tested
    EXPECT_FALSE(taken.is_complete());
    EXPECT_TRUE(cobre::comm::MailRequest().is_complete());
  });

  group.add("ReceivesAreServedInTheOrderInWhichTheyWerePosted", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    std::array<int, 3> values{};
    std::vector<cobre::comm::MailRequest> requests;
    for (int& value : values) requests.push_back(channel.irecv(std::span(&value, 1)));
    for (int i = 1; i <= 3; ++i) channel.send(10 * i);
    requests[2].wait();
    requests[0].wait();
    while (!requests[1].test()) std::this_thread::yield();
    EXPECT_EQ(values, (std::array{10, 20, 30}));
  });

  group.add("ADroppedReceiveLeavesTheMessageAndADroppedSendDeliversIt", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    { const auto dropped = channel.irecv(std::vector<double>(50'000)); }
    auto receiving = channel.irecv(std::vector<double>(50'000));
    { const auto dropped = channel.isend(contribution<double>(comm.rank(), 50'000, 2)); }
    EXPECT_TRUE(all_same(receiving.get(), contribution<double>(partner_of(comm), 50'000, 2)));
  });
}

/// Messages that are more than any pipe or socket takes at once, and whose requests nobody looks at meanwhile.
template <class C>
void channel_progress_cases(Suite<C>& suite) {
  auto group = suite.group("ChannelProgress");
  constexpr std::size_t count = std::size_t{1} << 20;

  group.add("ALongSendGoesOnWhileItsSenderIsInACollective", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 2);
    std::optional<cobre::comm::MailRequest> sending;
    const auto message = contribution<double>(7, count, 1);
    if (goes_first(comm)) sending = channel.isend(message);
    // The receiver comes to the barrier when it has everything.
    if (goes_second(comm)) {
      std::vector<double> recv(count);
      channel.recv(recv);
      EXPECT_TRUE(all_same(recv, message));
    }
    comm.barrier();
    if (sending) sending->wait();
  });

  group.add("ALongReceiveGoesOnWhileItsReceiverIsInACollective", [](const C& comm) {
    // MPI learns of a receive when its rank next comes to a channel, and is free to let a large message wait for that.
    const std::size_t length = comm.topology().backend == cobre::comm::BackendKind::Mpi ? 100 : count;
    const auto channel = comm.channel(partner_of(comm), 2);
    const auto message = contribution<double>(7, length, 2);
    std::vector<double> recv(length);
    std::optional<cobre::comm::MailRequest> receiving;
    if (goes_second(comm)) receiving = channel.irecv(recv);
    // The sender comes to the reduction when everything has been taken.
    if (goes_first(comm)) channel.send(message);
    EXPECT_EQ(comm.allreduce(std::uint64_t{1}, cobre::comm::ReduceOp::Sum), comm.size());
    if (receiving) {
      receiving->wait();
      EXPECT_TRUE(all_same(recv, message));
    }
  });

  if constexpr (cobre::comm::Splittable<C> && cobre::comm::NonblockingCollectives<C>) {
    group.add("ALongSendGoesOnWhileItsSenderAwaitsAnOperationOrAnotherCommunicator", [](const C& comm) {
      const C twin = comm.duplicate();
      comm.ibarrier().wait();
      const auto channel = comm.channel(partner_of(comm), 2);
      const auto other = twin.channel(partner_of(comm), 2);
      const auto message = contribution<double>(7, count, 3);
      std::vector<double> recv(count);
      for (int round = 0; round < 2; ++round) {
        std::optional<cobre::comm::MailRequest> sending;
        if (goes_first(comm)) sending = channel.isend(message);
        auto request = round == 0 ? comm.ibarrier() : cobre::comm::Request();
        if (goes_second(comm)) {
          channel.recv(recv);
          EXPECT_TRUE(all_same(recv, message));
          other.send(round);
        }
        if (round == 1 && goes_first(comm)) {
          EXPECT_EQ(other.template recv<int>(), round);
        }
        request.wait();
        if (round == 0 && goes_first(comm)) {
          EXPECT_EQ(other.template recv<int>(), round);
        }
        if (sending) sending->wait();
      }
    });
  }

  group.add("RequestsOfBothSidesAreOverAfterCollectives", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 2);
    std::vector<double> recv(count);
    auto receiving = channel.irecv(recv);
    auto sending = channel.isend(contribution<double>(comm.rank(), count, 4));
    for (std::uint64_t round = 0; round < 5; ++round) {
      EXPECT_EQ(comm.allreduce(round, cobre::comm::ReduceOp::Sum), round * comm.size());
    }
    receiving.wait();
    sending.wait();
    EXPECT_TRUE(all_same(recv, contribution<double>(partner_of(comm), count, 4)));
  });
}

template <class C>
void channel_cases(Suite<C>& suite) {
  auto group = suite.group("Channel");

  group.add("KnowsItsEnds", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 42);
    EXPECT_EQ(channel.rank(), comm.rank());
    EXPECT_EQ(channel.peer_rank(), partner_of(comm));
    EXPECT_EQ(channel.tag(), 42);
  });

  group.add("PingPongReturnsEveryByte", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 0);
    for (const std::size_t count : {0U, 1U, 2U, 5U, 7U, 100U, 511U, 512U, 5000U, 70'000U}) {
      const auto ball = contribution<double>(7, count, count);
      std::vector<double> caught(count);
      if (goes_first(comm)) channel.send(ball);
      if (goes_second(comm)) {
        channel.recv(caught);
        EXPECT_TRUE(all_same(caught, ball));
        channel.send(caught);
      }
      if (goes_first(comm)) channel.recv(caught);
      EXPECT_TRUE(all_same(caught, ball));
    }
  });

  group.add("LargeMessagesPassEachOther", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 0);
    const std::size_t count = (std::size_t{2} << 20) + 13;
    std::vector<std::uint8_t> recv(count);
    channel.sendrecv(contribution<std::uint8_t>(comm.rank(), count, 1), recv);
    EXPECT_TRUE(all_same(recv, contribution<std::uint8_t>(partner_of(comm), count, 1)));
  });

  group.add("SendrecvMovesDataRoundARing", [](const C& comm) {
    for (std::size_t step = 0; step < comm.size(); ++step) {
      const std::size_t to = (comm.rank() + step) % comm.size();
      const std::size_t from = (comm.rank() + comm.size() - step) % comm.size();
      std::vector<double> recv(8'000);
      comm.sendrecv(contribution<double>(comm.rank(), recv.size(), step), to, recv, from, 5);
      EXPECT_TRUE(all_same(recv, contribution<double>(from, recv.size(), step))) << "step " << step;
      EXPECT_EQ(comm.sendrecv(comm.rank(), to, from, 5), from);
    }
  });

  group.add("RanksThatAllSendFirstDoNotBlockEachOther", [](const C& comm) {
    // MPI is free to let a large one wait for its receive.
    const std::size_t count = comm.topology().backend == cobre::comm::BackendKind::Mpi ? 100 : 30'000;
    const std::size_t to = (comm.rank() + 1) % comm.size();
    const std::size_t from = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<double> recv(count);
    for (std::uint64_t round = 0; round < 3; ++round) {
      comm.send(contribution<double>(comm.rank(), count, round), to);
      comm.recv(recv, from);
      EXPECT_TRUE(all_same(recv, contribution<double>(from, count, round)));
    }
  });

  group.add("MessagesOfOneChannelArriveInOrder", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 0);
    std::vector<std::uint32_t> room(300);
    constexpr std::uint32_t messages = 400;
    if (goes_first(comm)) {
      for (std::uint32_t i = 0; i < messages; ++i) channel.send(std::vector<std::uint32_t>(i * 37 % 300, i));
    }
    if (goes_second(comm)) {
      for (std::uint32_t i = 0; i < messages; ++i) {
        const std::size_t count = channel.recv_some(room);
        EXPECT_EQ(count, i * 37 % 300);
        EXPECT_TRUE(all_same(std::span(room).first(count), std::vector<std::uint32_t>(count, i)));
      }
    }
  });

  group.add("ManyChannelsKnowNothingOfEachOther", [](const C& comm) {
    constexpr std::int64_t tags = 60;
    std::vector<cobre::comm::MailRequest> sends;
    std::vector<std::vector<std::int64_t>> out;
    for (std::int64_t tag = 0; tag < tags; ++tag) out.push_back({tag, static_cast<std::int64_t>(comm.rank()), -tag});
    std::vector<decltype(comm.channel(0, 0))> channels;
    for (std::int64_t tag = 0; tag < tags; ++tag) {
      channels.push_back(comm.channel(partner_of(comm), tag));
      sends.push_back(channels.back().isend(out[static_cast<std::size_t>(tag)]));
    }
    for (std::int64_t tag = tags; tag-- > 0;) {
      std::vector<std::int64_t> in(3);
      channels[static_cast<std::size_t>(tag)].recv(in);
      EXPECT_EQ(in, (std::vector<std::int64_t>{tag, static_cast<std::int64_t>(partner_of(comm)), -tag}));
    }
    for (auto& send : sends) send.wait();
  });

  group.add("PlainMessagesAndChannelsOfOneTagDoNotMeet", [](const C& comm) {
    const std::size_t partner = partner_of(comm);
    const auto channel = comm.channel(partner, 4);
    comm.send(1, partner, 4);
    channel.send(2);
    EXPECT_EQ(channel.template recv<int>(), 2);
    EXPECT_EQ(comm.template recv<int>(partner, 4), 1);
  });

  group.add("ARankTalksToItself", [](const C& comm) {
    const auto channel = comm.channel(comm.rank(), 8);
    const auto large = contribution<double>(comm.rank(), 300'000, 1);
    channel.send(large);
    channel.send(std::vector<double>());
    channel.send(2.5);
    std::vector<double> recv(large.size());
    channel.recv(recv);
    EXPECT_TRUE(all_same(recv, large));
    EXPECT_EQ(channel.recv_some(recv), 0U);
    EXPECT_EQ(channel.template recv<double>(), 2.5);
  });

  group.add("TryRecvFindsAMessageOnceItIsThere", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 6);
    std::vector<double> room(100'000);
    EXPECT_EQ(channel.try_recv(room), std::nullopt);
    comm.barrier();
    auto sending = channel.isend(contribution<double>(comm.rank(), 20'000, 3));
    std::optional<std::size_t> count;
    while (!(count = channel.try_recv(room))) std::this_thread::yield();
    ASSERT_EQ(count, 20'000U);
    EXPECT_TRUE(all_same(std::span(room).first(*count), contribution<double>(partner_of(comm), *count, 3)));
    sending.wait();
  });

  group.add("StructsAndValuesTravel", [](const C& comm) {
    const auto channel = comm.channel(partner_of(comm), 1);
    std::vector<Seven> recv(1001);
    channel.sendrecv(contribution<Seven>(comm.rank(), 1001, 2), recv);
    EXPECT_TRUE(all_same(recv, contribution<Seven>(partner_of(comm), 1001, 2)));
    channel.send(cobre::comm::ValueIndex<double>{1.5, static_cast<std::int32_t>(comm.rank())});
    const auto value = channel.template recv<cobre::comm::ValueIndex<double>>();
    EXPECT_EQ(value.value, 1.5);
    EXPECT_EQ(value.index, static_cast<std::int32_t>(partner_of(comm)));
  });

  group.add("MessagesWaitWhileCollectivesRun", [](const C& comm) {
    for (std::uint64_t round = 0; round < 20; ++round) {
      for (std::size_t peer = 0; peer < comm.size(); ++peer) comm.send(round * 1000 + comm.rank(), peer, 3);
      EXPECT_EQ(comm.allreduce(std::uint64_t{1}, cobre::comm::ReduceOp::Sum), comm.size());
      comm.barrier();
      for (std::size_t peer = comm.size(); peer-- > 0;) {
        EXPECT_EQ(comm.template recv<std::uint64_t>(peer, 3), round * 1000 + peer);
      }
    }
  });

  channel_request_cases(suite);
  dropped_receive_cases(suite);
  channel_progress_cases(suite);
  channel_misuse_cases(suite);
}

}  // namespace conformance
