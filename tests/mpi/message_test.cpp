// Messages on mpi where MPI itself promises less: receives that are dropped, sends that time out, communicators that
// fail or end with messages on their way. Runs on every rank of a launcher; the first two talk.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "comm/backends/mpi/mail.hpp"
#include "ferrompi/mpi_main.hpp"
#include "support/environment.hpp"
#include "support/outcome.hpp"

namespace {

using namespace cobre::comm;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t large = std::size_t{1} << 20;  // doubles: MPI lets them wait for their receive

class MpiMessages : public testing::Test {
 protected:
  MpiMessages() {
    set_warning_sink([this](std::string_view line) { warnings_.emplace_back(line); });
  }
  ~MpiMessages() override { set_warning_sink({}); }

  void configure_timeout(int seconds) { environment_.set("COBRE_COMM_TIMEOUT_SECS", std::to_string(seconds)); }
  static FerrompiBackend backend() { return FerrompiBackend(test_mpi().world().native()); }
  static bool is(int rank) { return test_mpi().world().rank() == rank; }
  /// Of all ranks, and on another communicator than that of the test.
  static void meet() { test_mpi().world().barrier(); }

  [[nodiscard]] std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  test::ScopedEnvironment environment_;
  std::vector<std::string> warnings_;
};

double seconds_of(const std::function<void()>& operation) {
  const auto begin = Clock::now();
  operation();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Once rank 0 has the last message, it has found those for its other receives when it comes by again.
void send_two_and_then_another(const FerrompiBackend& comm, std::size_t count) {
  std::optional<MailRequest> sends[2];
  const std::vector<double> first(count, 10.0);
  const std::vector<double> second(count, 20.0);
  const auto channel = comm.channel(0, 1);
  sends[0] = channel.isend(first);
  sends[1] = channel.isend(second);
  comm.channel(0, 2).send(30);
  comm.barrier();
  for (auto& send : sends) send->wait();
}

TEST_F(MpiMessages, OfDroppedReceivesKeepTheirOrder) {
  const FerrompiBackend comm = backend();
  for (const std::size_t count : {std::size_t{1}, large}) {
    for (const std::string_view order : {"as a vector does", "first first", "last first", "first alone"}) {
      SCOPED_TRACE(order);
      if (is(1)) send_two_and_then_another(comm, count);
      if (is(0)) {
        const auto channel = comm.channel(1, 1);
        std::vector<double> rooms[2] = {std::vector<double>(count), std::vector<double>(count)};
        std::vector<MailRequest> requests;
        for (auto& room : rooms) requests.push_back(channel.irecv(room));
        EXPECT_EQ(comm.channel(1, 2).recv<int>(), 30);
        EXPECT_EQ(comm.channel(1, 2).try_recv<int>(), std::nullopt);
        if (order == "as a vector does") requests.clear();
        if (order == "first first") requests.erase(requests.begin());
        if (order == "last first") requests.pop_back();
        if (order == "first alone") {
          requests.erase(requests.begin());
          requests.front().wait();
          EXPECT_EQ(rooms[1].back(), 20.0);
        }
        requests.clear();
        std::vector<double> values(count);
        channel.recv(values);
        EXPECT_EQ(values.back(), 10.0);
        if (order != "first alone") {
          channel.recv(values);
          EXPECT_EQ(values.back(), 20.0);
        }
        comm.barrier();
      }
      if (!is(0) && !is(1)) comm.barrier();
    }
  }
  EXPECT_TRUE(take_warnings().empty());
}

// One that has come twice: it did not fit into the receive before.
TEST_F(MpiMessages, OfADroppedReceiveStayThoughTheyWereKeptBefore) {
  const FerrompiBackend comm = backend();
  if (is(1)) {
    comm.channel(0, 1).send(std::vector<double>{1.0, 2.0});
    comm.channel(0, 2).send(1);
    comm.channel(0, 1).send(std::vector<double>{3.0, 4.0});
    comm.channel(0, 2).send(2);
  }
  if (is(0)) {
    const auto channel = comm.channel(1, 1);
    const auto other = comm.channel(1, 2);
    std::vector<double> room(3);
    EXPECT_THROW(channel.recv(room), InvalidBufferSize);
    room.resize(2);
    for (int round = 1; round <= 2; ++round) {
      const auto dropped = channel.irecv(room);
      EXPECT_EQ(other.recv<int>(), round);
    }
    channel.recv(room);
    EXPECT_EQ(room, (std::vector<double>{1.0, 2.0}));
    channel.recv(room);
    EXPECT_EQ(room, (std::vector<double>{3.0, 4.0}));
  }
  comm.barrier();
}

TEST_F(MpiMessages, ThatNobodyReadsAreReportedWhenTheCommunicatorEnds) {
  std::optional comm(backend());
  if (is(1)) {
    comm->channel(0, 77).send(std::vector<double>{1.0, 2.0});
    comm->channel(0, 78).send(std::vector<double>(3));
  }
  comm->barrier();
  if (is(0)) {
    EXPECT_THROW((void)comm->channel(1, 78).recv<double>(), InvalidBufferSize);  // which keeps it
  }
  comm.reset();
  if (is(0)) {
    EXPECT_EQ(take_warnings(),
              (std::vector<std::string>{"rank 0 of 2 ends without having received 1 message from rank 1 with tag 77 "
                                        "(16 bytes), 1 message from rank 1 with tag 78 (24 bytes); receive every "
                                        "message that is sent"}));
  }
  EXPECT_TRUE(take_warnings().empty());
}

TEST_F(MpiMessages, ToOneselfThatNobodyReadsAreReportedToo) {
  {
    const FerrompiBackend comm = backend();
    comm.send(5, comm.rank(), 3);
  }
  const auto warnings = take_warnings();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(
      warnings[0].find("1 message from rank " + std::to_string(test_mpi().world().rank()) + " with tag 3 (4 bytes)"),
      std::string::npos)
      << warnings[0];
}

TEST_F(MpiMessages, AreWaitedForNoLongerThanConfigured) {
  configure_timeout(1);
  const FerrompiBackend comm = backend();
  meet();
  if (is(0)) {
    const auto channel = comm.channel(1, 4);
    std::vector<double> room(large);
    EXPECT_GE(seconds_of([&] { EXPECT_EQ(test::outcome_of([&] { channel.recv(room); }), "TimedOut 1"); }), 1.0);
    auto receiving = channel.irecv(room);
    EXPECT_EQ(test::outcome_of([&] { receiving.wait(); }), "TimedOut 1");
    EXPECT_EQ(test::outcome_of([&] { receiving.wait(1ms); }), "TimedOut 1") << "one of its own, which is shorter";
    const std::vector<double> message(large, 1.5);
    EXPECT_EQ(test::outcome_of([&] { comm.sendrecv(message, 1, room, 1, 9); }), "TimedOut 1");
    meet();
    receiving.wait();  // what timed out is not over
    EXPECT_EQ(room.back(), 2.5);
    meet();
  } else {
    meet();
    comm.channel(0, 4).send(std::vector<double>(large, 2.5));
    meet();
    std::vector<double> room(large);
    comm.recv(room, 0, 9);
    EXPECT_EQ(room.back(), 1.5) << "what was given up may still arrive, and as it was";
  }
  comm.barrier();
  EXPECT_TRUE(take_warnings().empty());
}

TEST_F(MpiMessages, SentAndReceivedAtOnceAreWaitedForNoLongerThanConfiguredTogether) {
  configure_timeout(1);
  const FerrompiBackend comm = backend();
  meet();
  if (is(0)) {
    const std::vector<double> message(large, 1.5);
    std::vector<int> room(1);
    const double waited =
        seconds_of([&] { EXPECT_EQ(test::outcome_of([&] { comm.sendrecv(message, 1, room, 1, 9); }), "TimedOut 1"); });
    EXPECT_GE(waited, 1.0);
    EXPECT_LT(waited, 1.5);
  }
  if (is(1)) {
    std::this_thread::sleep_for(700ms);
    std::vector<double> room(large);
    comm.recv(room, 0, 9);
    EXPECT_EQ(room.back(), 1.5);
  }
  meet();
}

TEST_F(MpiMessages, OfADroppedRequestAreGivenUpAfterTheConfiguredTime) {
  configure_timeout(1);
  const FerrompiBackend comm = backend();
  if (is(0)) {
    const double waited =
        seconds_of([&] { const auto dropped = comm.channel(1, 4).isend(std::vector<double>(large, 3.5)); });
    EXPECT_GE(waited, 1.0);
    EXPECT_EQ(take_warnings(),
              std::vector<std::string>{"isend on rank 0 of 2: rank 1 did not take a message of 8388608 "
                                       "bytes with tag 4 in time; it is given up, and may still arrive"});
    try {
      const auto dropped = comm.channel(1, 5).isend(std::vector<double>(large, 4.5));
      throw std::runtime_error("the sky fell");
    } catch (const std::runtime_error&) {  // and the job goes on
    }
    EXPECT_EQ(take_warnings().size(), 1U);
  }
  meet();
  if (is(1)) {
    std::vector<double> room(large);
    comm.channel(0, 4).recv(room);
    EXPECT_EQ(room.back(), 3.5);
    comm.channel(0, 5).recv(room);
    EXPECT_EQ(room.back(), 4.5);
  }
  comm.barrier();
}

// MPI does not say that the other end is gone.
TEST_F(MpiMessages, OfAPeerThatHasLeftAreWaitedForUntilTheTimeIsUp) {
  std::optional comm(backend());
  const auto channel = comm->channel(is(0) ? 1 : 0, 4);
  comm->barrier();
  if (is(1)) comm.reset();
  if (is(0)) {
    EXPECT_EQ(test::outcome_of([&] { (void)channel.recv<int>(300ms); }), "TimedOut 1");
  }
  meet();
}

TEST_F(MpiMessages, ThatTakeLongAreSpokenOf) {
  {
    const auto mail =
        std::make_shared<mpi::Mail>(nullptr, test_mpi().world(), std::make_shared<mpi::Gate>(), std::nullopt, 50ms);
    const BasicChannel<FerrompiBackend> channel(mail, {is(0) ? 1U : 0U, 6, detail::Realm::Channel});
    meet();
    if (is(0)) {
      EXPECT_EQ(test::outcome_of([&] { (void)channel.recv<int>(250ms); }), "TimedOut 1");
      const auto warnings = take_warnings();
      ASSERT_GE(warnings.size(), 2U);
      EXPECT_LE(warnings.size(), 3U) << "at doubling intervals";
      EXPECT_EQ(warnings[0], "recv on rank 0 of 2: waiting for 0 s; nothing came from rank 1 with tag 6");
    }
    meet();
  }
  EXPECT_TRUE(take_warnings().empty());
}

// The peer takes nothing for a while, not even into MPI. How much of what is sent goes through at once is up to MPI.
TEST_F(MpiMessages, ThatAreShortAndWaitForTheirPeerAreSpokenOfToo) {
  constexpr std::size_t bytes = 4096;
  constexpr int messages = 2000;
  {
    const auto mail =
        std::make_shared<mpi::Mail>(nullptr, test_mpi().world(), std::make_shared<mpi::Gate>(), std::nullopt, 50ms);
    const BasicChannel<FerrompiBackend> channel(mail, {is(0) ? 1U : 0U, 6, detail::Realm::Channel});
    std::vector<std::byte> message(bytes);
    meet();
    if (is(0)) {
      std::string outcome;
      EXPECT_LT(seconds_of([&] { outcome = test::outcome_of([&] { channel.send(message, 20ms); }); }), 0.45);
      EXPECT_TRUE(outcome == "fine" || outcome == "TimedOut 1") << outcome;  // and arrives all the same
      double longest = 0;
      for (int i = 1; i < messages; ++i) {
        message.back() = static_cast<std::byte>(i);
        longest = std::max(longest, seconds_of([&] { channel.send(message); }));
      }
      const auto warnings = take_warnings();
      if (longest > 0.25) {
        ASSERT_FALSE(warnings.empty()) << longest << " s";
        EXPECT_NE(warnings[0].find("no room for a message to rank 1 with tag 6"), std::string::npos) << warnings[0];
      }
    }
    if (is(1)) {
      std::this_thread::sleep_for(500ms);
      for (int i = 0; i < messages; ++i) {
        channel.recv(message);
        ASSERT_EQ(message.back(), static_cast<std::byte>(i));
      }
    }
    meet();
  }
  EXPECT_TRUE(take_warnings().empty());
}

// A rank that is about to go may be the one that its peer waits for.
TEST_F(MpiMessages, ThatTimedOutHoldNobodyUpAtTheEnd) {
  for (const std::size_t count : {std::size_t{1}, large}) {
    std::optional comm(backend());
    if (is(0)) {
      const std::vector<double> message(count, 1.0);
      const std::string outcome = test::outcome_of([&] { comm->channel(1, 5).send(message, 20ms); });
      EXPECT_EQ(outcome, count == large ? "TimedOut 1" : "fine");
      EXPECT_LT(seconds_of([&] { comm.reset(); }), 10.0);
      if (count == large) {
        EXPECT_EQ(
            take_warnings(),
            std::vector<std::string>{"rank 0 of 2 ends although 1 message that it gave up has not been taken, the "
                                     "first by rank 1 with tag 5 (8388608 bytes); receive every message that is sent"});
      }
      meet();
    } else {
      meet();
      comm.reset();
      const auto warnings = take_warnings();
      ASSERT_EQ(warnings.size(), 1U);
      EXPECT_NE(warnings[0].find("1 message from rank 0 with tag 5"), std::string::npos) << warnings[0];
    }
    meet();
    EXPECT_TRUE(take_warnings().empty());
  }
}

TEST_F(MpiMessages, ThatTimedOutAreSweptUpOnceTheyWereTaken) {
  std::optional comm(backend());
  if (is(0)) {
    std::vector<double> message(large, 1.0);
    EXPECT_EQ(test::outcome_of([&] {
                comm->send(message, 1, 5);
                comm->channel(1, 6).send(message, 20ms);
              }),
              "TimedOut 1");
    std::ranges::fill(message, 2.0);  // whoever sent it has it back
    meet();
    EXPECT_EQ(comm->recv<int>(1, 7), 1);
    EXPECT_LT(seconds_of([&] { comm.reset(); }), 0.9) << "there is nothing to wait for";
  } else {
    std::vector<double> room(large);
    comm->recv(room, 0, 5);
    meet();
    comm->channel(0, 6).recv(room);
    EXPECT_EQ(std::ranges::count(room, 1.0), static_cast<std::ptrdiff_t>(large));
    comm->send(1, 0, 7);
    comm.reset();
  }
  EXPECT_TRUE(take_warnings().empty());
  meet();
}

// Both time out, and both end: what they gave up is taken there.
TEST_F(MpiMessages, ThatTimedOutOnBothSidesAreTakenWhenBothEnd) {
  std::optional comm(backend());
  const std::vector<double> message(large, 1.0);
  EXPECT_EQ(test::outcome_of([&] { comm->channel(is(0) ? 1 : 0, 5).send(message, 100ms); }),
            is(0) ? "TimedOut 1" : "TimedOut 0");
  comm->barrier();
  EXPECT_LT(seconds_of([&] { comm.reset(); }), 0.9);
  EXPECT_EQ(take_warnings().size(), 1U) << "of what it did not receive";
  meet();
}

}  // namespace
