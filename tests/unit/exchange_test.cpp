// What a mailbox is asked for where a message goes out and another one comes in: both within one timeout.

#include <cobre/comm/detail/mailbox.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace cobre::comm;
using namespace std::chrono_literals;
using detail::Transfer;
using Duration = std::chrono::nanoseconds;

/// Whose send takes a while, and whose receive never ends.
class SlowMailbox final : public detail::Mailbox {
 public:
  SlowMailbox(Duration configured, Duration sending) : Mailbox(0, 2, 9), configured_(configured), sending_(sending) {}

  void start(Transfer&) override {}
  void finish(Transfer& transfer, Duration timeout) override {
    timeouts.push_back(timeout);
    if (transfer.direction == Transfer::Direction::In) throw TimedOut(where(transfer.operation), 0.0, {1});
    if (timeout < sending_) throw TimedOut(where(transfer.operation), 0.0, {1});
    std::this_thread::sleep_for(sending_);
  }
  [[nodiscard]] bool test(Transfer&) override { return false; }
  void abandon(Transfer&) noexcept override {}
  [[nodiscard]] Duration configured_timeout() const noexcept override { return configured_; }

  std::vector<Duration> timeouts;  // of each thing that was waited for

 private:
  Duration configured_;
  Duration sending_;
};

/// How long an exchange says that it waited.
double seconds_of_exchange(SlowMailbox& mailbox, Duration timeout) {
  const std::array<int, 1> out{};
  std::array<int, 1> in{};
  Transfer receiving("sendrecv", {.peer = 1}, in.data(), sizeof(in), sizeof(int), true);
  Transfer sending("sendrecv", {.peer = 1}, out.data(), sizeof(out), Transfer::OnDrop::GiveUp);
  try {
    mailbox.exchange(sending, receiving, timeout);
  } catch (const TimedOut& error) {
    EXPECT_EQ(error.operation(), "sendrecv");
    EXPECT_EQ(error.missing_ranks(), std::vector<std::size_t>{1});
    return error.waited_seconds();
  }
  ADD_FAILURE() << "nothing was received";
  return 0;
}

TEST(Exchange, LeavesTheReceiveWhatTheSendLeavesOfTheTimeout) {
  for (const Duration given : {Duration(10s), Duration(detail::as_configured)}) {
    SlowMailbox mailbox(given == 10s ? detail::for_ever : 10s, 20ms);
    EXPECT_GE(seconds_of_exchange(mailbox, given), 0.02) << "the time of both, and not of the last one";
    ASSERT_EQ(mailbox.timeouts.size(), 2U);
    EXPECT_LE(mailbox.timeouts[0], 10s);
    EXPECT_LE(mailbox.timeouts[1], 10s - 20ms);
    EXPECT_GT(mailbox.timeouts[1], 0s);
  }
}

TEST(Exchange, LeavesTheReceiveOneLookWhereTheSendTookAllOfTheTime) {
  SlowMailbox mailbox(detail::for_ever, 0s);
  EXPECT_GE(seconds_of_exchange(mailbox, 0s), 0.0);
  EXPECT_EQ(mailbox.timeouts, (std::vector<Duration>{0s, 0s}));
}

TEST(Exchange, WaitsForEverForBothWhereNoTimeoutIsConfigured) {
  SlowMailbox mailbox(detail::for_ever, 0s);
  (void)seconds_of_exchange(mailbox, detail::as_configured);
  EXPECT_EQ(mailbox.timeouts, (std::vector<Duration>{detail::for_ever, detail::for_ever}));
}

}  // namespace
