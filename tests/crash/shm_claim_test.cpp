// A rank that writes into another one's memory, and stops or dies over it.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/core/crash_point.hpp"
#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ShmBackend;
using test::eventually;
using test::outcome_of;
using test::shm_configs;
using test::start_ranks;
using namespace std::chrono_literals;

struct Board {
  std::atomic<bool> stopped{false};
  std::atomic<bool> returned{false};
};

// This process stops when it first comes by the point: it has claimed what it is about to write, and has not written.
const char* where_to_stop = nullptr;
std::atomic<bool>* stopped_there = nullptr;
void stop_once_at(const char* point, std::atomic<bool>& stopped) {
  where_to_stop = point;
  stopped_there = &stopped;
  cobre::comm::core::CrashPoint::on_visit([](const auto& here) {
    if (here.name() == std::string_view(where_to_stop) && !stopped_there->exchange(true)) raise(SIGSTOP);
  });
}

// The writer stops between claim and write; the reader's time is up. It must stay, because the writer may write any
// moment: only when that has cleared its claim, or is dead, may the buffer go.
using Operation = void (*)(const ShmBackend& comm, std::vector<double>& data);
void expect_reader_to_outstay(Operation operation, const char* point, int then, const std::string& reader_says) {
  test::Shared<Board> board;
  auto ranks = start_ranks(shm_configs(2, [](auto& config) { config.timeout = 500ms; }),
                           [&](const ShmBackend& comm) -> std::string {
                             if (!comm.uses_single_copy()) return "no single copy here";
                             std::vector<double> data(1'000'000, comm.rank() == 0 ? 1.0 : 0.0);
                             if (comm.rank() == 0) stop_once_at(point, board->stopped);
                             std::string outcome = "fine";
                             // It may take a while until the two are at it at the same time.
                             while (outcome == "fine" && (comm.rank() == 1 || !board->stopped)) {
                               outcome = outcome_of([&] { operation(comm, data); });
                             }
                             if (comm.rank() == 1) board->returned = true;
                             return outcome;
                           });
  ASSERT_TRUE(eventually([&] { return board->stopped.load(); }));
  std::this_thread::sleep_for(1s);
  EXPECT_FALSE(board->returned) << "the reader left though its memory was about to be written";
  ranks[0].signal(then);
  EXPECT_EQ(ranks[1].words(), reader_says);
}

void broadcast_from_0(const ShmBackend& comm, std::vector<double>& data) {
  comm.broadcast(data, 0);
}

void gather_at_1(const ShmBackend& comm, std::vector<double>& data) {
  std::vector<double> all(comm.rank() == 1 ? 2 * data.size() : 0);
  comm.gather(data, all, 1);
}

TEST(ShmClaim, HoldsTheReaderUntilAStoppedWriterGoesOn) {
  expect_reader_to_outstay(broadcast_from_0, "shm.claim_taken", SIGCONT, "TimedOut 0");
}

TEST(ShmClaim, HoldsTheReaderUntilAStoppedWriterIsDead) {
  expect_reader_to_outstay(broadcast_from_0, "shm.claim_taken", SIGKILL, "TimedOut 0");
}

TEST(ShmClaim, HoldsTheRootOfAGatherUntilAStoppedGiverGoesOn) {
  expect_reader_to_outstay(gather_at_1, "shm.piece_claimed", SIGCONT, "TimedOut 0");
}

TEST(ShmClaim, HoldsTheRootOfAGatherUntilAStoppedGiverIsDead) {
  expect_reader_to_outstay(gather_at_1, "shm.piece_claimed", SIGKILL, "TimedOut 0");
}

// Both copy a message. The sender stops over a piece that it has claimed; the receiver's time is up. Again it must
// stay, and when it has left nothing is written any more; the message is still the next one.
struct MessageBoard {
  std::atomic<bool> stopped{false};
  std::atomic<bool> timed_out{false};
};
constexpr std::size_t long_message = std::size_t{8} << 20;

std::string receive_in_spite(const cobre::comm::ShmChannel& channel, MessageBoard& board) {
  std::vector<unsigned char> message(long_message);
  std::string outcome = "fine";
  // It may take a while until the two are at it at the same time.
  while (outcome == "fine" || (outcome == "TimedOut 0" && !board.stopped)) {
    outcome = outcome_of([&] { channel.recv(message, 300ms); });
  }
  board.timed_out = true;
  std::ranges::fill(message, 0xee);
  std::vector<unsigned char> again(long_message);
  outcome += ", " + outcome_of([&] { channel.recv(again); }).substr(0, 12);
  const auto all = [](const auto& bytes, unsigned char value) {
    return std::ranges::all_of(bytes, [&](unsigned char byte) { return byte == value; });
  };
  if (!all(message, 0xee)) return "written after the receive had ended";
  if (outcome.ends_with("fine") && !all(again, 7)) return "wrong bytes";
  return outcome;
}

void expect_receiver_to_outstay(int then, const std::string& receiver_says) {
  test::Shared<MessageBoard> board;
  auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
    if (!comm.uses_single_copy()) return "no single copy here";
    const auto channel = comm.channel(1 - comm.rank(), 0);
    if (comm.rank() == 1) return receive_in_spite(channel, *board);
    stop_once_at("shm.piece_claimed", board->stopped);
    const std::vector<unsigned char> message(long_message, 7);
    while (!board->stopped) channel.send(message);
    return "sent";
  });
  ASSERT_TRUE(eventually([&] { return board->stopped.load(); }));
  std::this_thread::sleep_for(1s);
  EXPECT_FALSE(board->timed_out) << "the receiver left though its memory was about to be written";
  ranks[0].signal(then);
  EXPECT_EQ(ranks[1].words(), receiver_says);
}

TEST(ShmClaim, HoldsTheReceiverOfAMessageUntilAStoppedSenderGoesOn) {
  expect_receiver_to_outstay(SIGCONT, "TimedOut 0, fine");
}

TEST(ShmClaim, HoldsTheReceiverOfAMessageUntilAStoppedSenderIsDead) {
  expect_receiver_to_outstay(SIGKILL, "TimedOut 0, PeerFailed 0");
}

}  // namespace
