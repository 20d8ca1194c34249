// A rank that the kernel does not let write into another one's memory: what it would write is read by the other.

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
#include <vector>

#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ShmBackend;
using test::shm_configs;
using test::start_ranks;

constexpr std::size_t part_bytes = std::size_t{2} << 20;

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

TEST(ShmForbiddenWriting, LeavesAMessageToItsReceiver) {
  auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
    const auto channel = comm.channel(1 - comm.rank(), 0);
    if (comm.rank() == 0) forbid_writing_to_others();
    for (unsigned char round = 1; round <= 20; ++round) {
      std::vector<unsigned char> message(part_bytes, comm.rank() == 0 ? round : 0);
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

TEST(ShmForbiddenWriting, LeavesThePartsOfAGatherToItsRoot) {
  auto ranks = start_ranks(shm_configs(2), [&](const ShmBackend& comm) -> std::string {
    if (comm.rank() == 0) forbid_writing_to_others();
    for (unsigned char round = 1; round <= 20; ++round) {
      const std::vector<unsigned char> part(part_bytes, round);
      std::vector<unsigned char> all(comm.rank() == 1 ? 2 * part.size() : 0);
      comm.gather(part, all, 1);
      if (!std::ranges::all_of(all, [&](unsigned char byte) { return byte == round; })) return "wrong bytes";
    }
    return "fine";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

}  // namespace
