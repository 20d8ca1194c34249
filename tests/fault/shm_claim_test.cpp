// A rank that writes into another one's memory, and stops or dies over it, or may not.

#include <gtest/gtest.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/backends/shm/claim.hpp"
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

// The writer stops between claim and write; the reader's time is up. It must stay, because the writer may write any
// moment: only when that has cleared its claim, or is dead, may the buffer go.
void expect_reader_to_outstay(int then, const std::string& reader_says) {
  test::Shared<Board> board;
  static Board* shared = nullptr;
  shared = &*board;
  auto ranks = start_ranks(shm_configs(2, [](auto& config) { config.timeout = 200ms; }),
                           [&](const ShmBackend& comm) -> std::string {
                             if (!comm.uses_single_copy()) return "no single copy here";
                             std::vector<double> data(1'000'000, comm.rank() == 0 ? 1.0 : 0.0);
                             if (comm.rank() == 0) {
                               cobre::comm::shm::after_taking_claim = [] {
                                 shared->stopped = true;
                                 raise(SIGSTOP);
                               };
                             }
                             std::string outcome = "fine";
                             // It may take a while until the two are at it at the same time.
                             while (outcome == "fine") outcome = outcome_of([&] { comm.broadcast(data, 0); });
                             if (comm.rank() == 1) shared->returned = true;
                             return outcome;
                           });
  ASSERT_TRUE(eventually([&] { return board->stopped.load(); }));
  std::this_thread::sleep_for(1s);
  EXPECT_FALSE(board->returned) << "the reader left though its memory was about to be written";
  ranks[0].signal(then);
  EXPECT_EQ(ranks[1].words(), reader_says);
}

TEST(ShmClaim, HoldsTheReaderUntilAStoppedWriterGoesOn) {
  expect_reader_to_outstay(SIGCONT, "TimedOut 0");
}

TEST(ShmClaim, HoldsTheReaderUntilAStoppedWriterIsDead) {
  expect_reader_to_outstay(SIGKILL, "TimedOut 0");
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
  static MessageBoard* shared = nullptr;
  shared = &*board;
  auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
    if (!comm.uses_single_copy()) return "no single copy here";
    const auto channel = comm.channel(1 - comm.rank(), 0);
    if (comm.rank() == 1) return receive_in_spite(channel, *board);
    cobre::comm::shm::after_taking_claim = [] {
      if (!shared->stopped.exchange(true)) raise(SIGSTOP);
    };
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

// From here on the kernel does not let this process write into others.
void forbid_writing_to_others() {
  std::array<sock_filter, 4> program{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
                                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    throw std::runtime_error("no filter of system calls");
  }
}

TEST(ShmClaim, OfASenderThatMayNotWriteIsReadByTheReceiver) {
  auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
    const auto channel = comm.channel(1 - comm.rank(), 0);
    if (comm.rank() == 0) forbid_writing_to_others();
    for (unsigned char round = 1; round <= 20; ++round) {
      std::vector<unsigned char> message(long_message / 4, comm.rank() == 0 ? round : 0);
      if (comm.rank() == 0) {
        channel.send(message);
      } else {
        channel.recv(message);
        if (!std::ranges::all_of(message, [&](unsigned char byte) { return byte == round; })) return "wrong bytes";
      }
    }
    return "fine";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

}  // namespace
