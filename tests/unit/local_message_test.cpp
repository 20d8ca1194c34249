// Messages of local communicators: each has its own, although an object of their class has no state.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace cobre::comm;

/// The warnings of a test, in place of stderr.
class Warnings {
 public:
  Warnings() {
    set_warning_sink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  ~Warnings() { set_warning_sink({}); }

  [[nodiscard]] std::vector<std::string> take() { return std::exchange(lines_, {}); }

 private:
  std::vector<std::string> lines_;
};

const std::string unread_int =
    "rank 0 of 1 ends without having received 1 message from rank 0 with tag 7 (4 bytes); receive every message that "
    "is sent";

TEST(LocalMessages, OfADuplicateAreItsOwn) {
  const LocalBackend comm;
  const LocalBackend twin = comm.duplicate();
  comm.send(1, 0);
  twin.send(2, 0);
  EXPECT_EQ(twin.recv<int>(0), 2);
  EXPECT_THROW((void)twin.recv<int>(0), InvalidOperation);
  EXPECT_EQ(comm.recv<int>(0), 1);
}

TEST(LocalMessages, AreReportedWhenTheirCommunicatorEndsAndNotLeftToTheNext) {
  Warnings warnings;
  {
    const LocalBackend comm;
    comm.send(5, 0, 7);
    EXPECT_TRUE(warnings.take().empty());
  }
  EXPECT_EQ(warnings.take(), std::vector{unread_int});
  {
    const LocalBackend next;
    EXPECT_EQ(next.channel(0, 7).try_recv<int>(), std::nullopt);
    EXPECT_THROW((void)next.recv<int>(0, 7), InvalidOperation);
  }
  EXPECT_TRUE(warnings.take().empty());
}

TEST(LocalMessages, MoveWithTheirCommunicator) {
  Warnings warnings;
  LocalBackend first;
  first.send(5, 0, 7);
  LocalBackend second = std::move(first);
  EXPECT_EQ(second.recv<int>(0, 7), 5);
  second.send(6, 0, 7);
  LocalBackend third;
  third.send(7, 0, 7);
  third = std::move(second);
  EXPECT_EQ(warnings.take(), std::vector{unread_int}) << "what the third one had ended there";
  EXPECT_EQ(third.recv<int>(0, 7), 6);
  CommBackend any(std::move(third));
  any.send(8, 0, 7);
  const CommBackend moved = std::move(any);
  EXPECT_EQ(moved.recv<int>(0, 7), 8);
  EXPECT_TRUE(warnings.take().empty());
}

TEST(LocalMessages, StayWithAChannelThatOutlivesItsCommunicator) {
  Warnings warnings;
  std::optional<LocalBackend> comm(std::in_place);
  std::optional channel(comm->channel(0, 7));
  channel->send(1);
  channel->send(2);
  comm.reset();
  EXPECT_TRUE(warnings.take().empty());
  EXPECT_EQ(channel->recv<int>(), 1);
  channel.reset();
  EXPECT_EQ(warnings.take(), std::vector{unread_int});
}

TEST(LocalMessages, MayBeSentOnOneThreadAndReceivedOnAnother) {
  const LocalBackend comm;
  comm.send(std::vector<double>{1.5, 2.5}, 0);
  std::thread([&] {
    std::vector<double> values(2);
    comm.recv(values, 0);
    EXPECT_EQ(values, (std::vector<double>{1.5, 2.5}));
    comm.send(3.5, 0);
  }).join();
  EXPECT_EQ(comm.recv<double>(0), 3.5);
}

// Opened here, used there, under one tag: each thread hears itself.
TEST(LocalMessages, OfTwoThreadsWithADuplicateEachDoNotMeet) {
  const LocalBackend comm;
  const LocalBackend twins[] = {comm.duplicate(), comm.duplicate()};
  const LocalChannel channels[] = {twins[0].channel(0, 7), twins[1].channel(0, 7)};
  std::latch both(2);
  const auto talk = [&](std::size_t which) {
    const int mine = 1000 * static_cast<int>(which + 1);
    both.arrive_and_wait();
    for (int round = 0; round < 2000; ++round) {
      channels[which].send(mine + round % 100);
      twins[which].send(-mine, 0);
      EXPECT_EQ(twins[which].recv<int>(0), -mine);
      EXPECT_EQ(channels[which].recv<int>(), mine + round % 100);
    }
  };
  std::thread helper([&] { talk(1); });
  talk(0);
  helper.join();
}

// Whoever comes next may stand where they stood.
TEST(LocalMessages, OfCommunicatorsThatComeAndGoOnTwoThreadsDoNotMeet) {
  std::latch both(2);
  const auto live = [&](int mine) {
    both.arrive_and_wait();
    for (int round = 0; round < 2000; ++round) {
      LocalBackend comm;
      comm.send(mine + round, 0);
      const LocalBackend moved = std::move(comm);
      EXPECT_EQ(moved.recv<int>(0), mine + round);
    }
  };
  std::thread helper([&] { live(10'000); });
  live(20'000);
  helper.join();
}

}  // namespace
