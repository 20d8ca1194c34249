// A message has no largest length: it may be thousands of times what lies between two ranks.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include "comm/core/progress.hpp"
#include "support/long_messages.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "support/shm_ranks.hpp"
#endif
#ifdef COBRE_COMM_HAS_TCP
#include "support/tcp_ranks.hpp"
#endif

namespace {

constexpr std::size_t bytes = (std::size_t{6} << 20) + 5;
constexpr auto exchange = [](const auto& comm) { return test::every_long_message(comm, bytes, 2 * bytes); };

// A thread that believes to have something to do neither spins nor sleeps.
template <class Comm>
std::string what_several_requests_leave(const Comm& comm) {
  const auto channel = comm.channel(1 - comm.rank(), 3);
  const test::Message message = test::message_of(comm.rank(), bytes);
  auto first_coming = channel.irecv(test::Message(bytes));
  auto second_coming = channel.irecv(test::Message(bytes));
  auto first_going = channel.isend(message);
  auto second_going = channel.isend(message);
  first_going.wait();
  second_going.wait();
  first_coming.wait();
  second_coming.wait();
  return cobre::comm::core::has_other_work() ? "something to do" : "nothing";
}

template <class Ranks>
void expect_nothing_is_left(Ranks ranks) {
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "nothing");
}

#ifdef COBRE_COMM_HAS_SHM
TEST(LongMessages, ThatWereUnderWayTogetherLeaveNothingToDoOnShm) {
  expect_nothing_is_left(test::start_ranks(test::shm_configs(2), what_several_requests_leave<cobre::comm::ShmBackend>));
}

// Two ranks leave a pipe of two KiB in it for each direction, and are far from finding room for a message in all of it.
void through_a_small_segment(cobre::comm::SingleCopy single_copy) {
  const auto configs = test::shm_configs(2, [=](auto& config) {
    config.segment_bytes = std::size_t{128} << 10;
    config.single_copy = single_copy;
  });
  test::expect_all_arrived(test::start_ranks(configs, exchange));
}
TEST(LongMessages, ArriveThroughAPipeFarShorterThanThey) {
  through_a_small_segment(cobre::comm::SingleCopy::Off);
}
TEST(LongMessages, ArriveFromWhereTheyLie) {
  through_a_small_segment(cobre::comm::SingleCopy::Auto);
}
#endif

#ifdef COBRE_COMM_HAS_TCP
TEST(LongMessages, ThatWereUnderWayTogetherLeaveNothingToDoOnTcp) {
  expect_nothing_is_left(test::start_ranks(test::tcp_configs(2), what_several_requests_leave<cobre::comm::TcpBackend>));
}

TEST(LongMessages, ArriveThroughSockets) {
  test::expect_all_arrived(test::start_ranks(test::tcp_configs(2), exchange));
}
#endif

#if defined(COBRE_COMM_HAS_TCP) && defined(COBRE_COMM_HAS_SHM)
TEST(LongMessages, ArriveBetweenTcpRanksOfOneMachine) {
  const auto configs = test::tcp_configs(2, [](auto& config) { config.shared_memory = true; });
  test::expect_all_arrived(test::start_ranks(configs, exchange));
}
#endif

}  // namespace
