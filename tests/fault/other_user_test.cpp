// Another user of the machine tries every door of a job that runs: none opens, and the job does not notice.

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>

#include "comm/core/descriptor.hpp"
#include "fault/on_backends.hpp"

namespace {

using cobre::comm::ReduceOp;
using test::Process;

constexpr uid_t owner = 65533;
constexpr uid_t somebody_else = 65534;

void become(uid_t user) {
  if (setgroups(0, nullptr) != 0 || setgid(user) != 0 || setuid(user) != 0) throw std::runtime_error("still root");
  // Becoming another user takes the right to be looked at away; an ordinary login does not.
  if (prctl(PR_SET_DUMPABLE, 1) != 0) throw std::runtime_error("prctl");
}

std::string proc(pid_t pid, const std::string& entry) {
  return "/proc/" + std::to_string(pid) + "/" + entry;
}

bool can_read(const std::string& path) {
  const cobre::comm::core::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return bool(file);
}

// Descriptors of the process that can be had by their entry in /proc: the shared memory is one of them.
bool can_open_a_descriptor(pid_t pid) {
  DIR* const folder = opendir(proc(pid, "fd").c_str());
  if (folder == nullptr) return false;
  bool opened = false;
  while (const dirent* const entry = readdir(folder)) {
    if (entry->d_name[0] != '.') opened = can_read(proc(pid, std::string("fd/") + entry->d_name)) || opened;
  }
  closedir(folder);
  return opened;
}

// Forked from the same test, so it lies at the same address in every process.
const std::uint64_t known_word = 42;

bool can_read_memory(pid_t pid) {
  std::uint64_t word = 0;
  const iovec local{&word, sizeof word};
  const iovec remote{const_cast<std::uint64_t*>(&known_word), sizeof word};
  return process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0;
}

// Stops nobody; the end of this process lets go again.
bool can_trace(pid_t pid) {
  return ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0;
}

bool can_take_a_descriptor(pid_t pid) {
  const cobre::comm::core::Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const cobre::comm::core::Descriptor taken(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), 0, 0)));
  return bool(taken);
}

/// What this process may do to another one, in words.
std::string doors_into(pid_t pid) {
  std::string open;
  const auto knock = [&](const char* door, bool opens) {
    if (opens) open += std::string(open.empty() ? "" : ", ") + door;
  };
  knock("signal", kill(pid, 0) == 0);
  knock("descriptors", can_open_a_descriptor(pid));
  knock("environment", can_read(proc(pid, "environ")));
  knock("memory file", can_read(proc(pid, "mem")));
  knock("process_vm_readv", can_read_memory(pid));
  knock("pidfd_getfd", can_take_a_descriptor(pid));
  knock("ptrace", can_trace(pid));
  return open.empty() ? "none" : open;
}

struct Board {
  std::atomic<int> inside{0};
  std::atomic<bool> leave{false};
};

class OtherUser : public fault::OnBackends {};
INSTANTIATE_TEST_SUITE_P(Everywhere, OtherUser, testing::ValuesIn(fault::backends()), fault::name_of);

TEST_P(OtherUser, FindsNoDoorIntoAJobThatRuns) {
  ASSERT_EQ(geteuid(), 0U) << "needs root, to be two other users";
  const test::Shared<Board> board;
  std::vector<Process> ranks;
  for (const auto& make : GetParam().ranks(2, {})) {
    ranks.emplace_back([&]() -> std::string {
      become(owner);
      const fault::CommBackend comm = make();
      auto region = comm.create_shared_region<double>(1000);
      comm.barrier();
      ++board->inside;
      test::eventually([&] { return board->leave.load(); });
      region.fence();
      return "sum " + std::to_string(comm.allreduce(1, ReduceOp::Sum));
    });
  }
  ASSERT_TRUE(test::eventually([&] { return board->inside == 2; }));
  const auto knock_as = [&](uid_t user, pid_t pid) {
    return Process([&]() -> std::string {
             become(user);
             return doors_into(pid);
           })
        .words();
  };
  for (const auto& rank : ranks) EXPECT_EQ(knock_as(somebody_else, rank.pid()), "none");
  // The doors are real: who owns the job gets in, as far as the machine lets its users look at their own processes.
  EXPECT_TRUE(knock_as(owner, ranks[0].pid()).starts_with("signal, descriptors, environment"));
  board->leave = true;
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "sum 2");
}

}  // namespace
