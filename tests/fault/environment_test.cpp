// Jobs in surroundings that are poor, strict or odd: what is promised there happens, and nothing else.
//
// Most of these need root, to make the surroundings; nothing of the machine's own is changed.

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstddef>
#include <fstream>

#include "comm/core/sanitizers.hpp"
#include "fault/on_backends.hpp"
#include "support/control_groups.hpp"
#include "support/mounts.hpp"

namespace {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;
using test::eventually;
using test::outcome_of;
using test::require;
using test::with_own_mounts;
using namespace std::chrono_literals;

// A little of everything.
std::string work(const CommBackend& comm) {
  std::vector<double> data(200'000, 1.0);
  comm.allreduce_inplace(data, ReduceOp::Sum);
  if (data.back() != static_cast<double>(comm.size())) return "wrong sum";
  std::ranges::fill(data, static_cast<double>(comm.rank()));
  comm.broadcast(data, 1);
  if (data.front() != 1.0) return "wrong broadcast";
  auto region = comm.create_shared_region<double>(1000);
  if (comm.is_leader()) region.as_mut_span()[999] = 5.0;
  region.fence();
  if (region.as_span()[999] != 5.0) return "wrong region";
  comm.barrier();
  return "right";
}

class Environment : public fault::OnBackends {
 protected:
  // All ranks in surroundings of their own, into which one process goes before it starts them. What they say, and how
  // often.
  static std::string say_all(std::size_t size, const std::function<void()>& enter, const Body& body = work) {
    test::Process outside([&]() -> std::string {
      enter();
      auto ranks = start(size, body);
      std::map<std::string, int> words;
      for (auto& rank : ranks) ++words[rank.words()];
      std::string all;
      for (const auto& [word, count] : words) all += word + " x " + std::to_string(count) + "; ";
      return all;
    });
    return outside.words(50s);
  }
};

INSTANTIATE_TEST_SUITE_P(On, Environment, testing::ValuesIn(fault::backends()), fault::name_of);

TEST_P(Environment, OfATmpThatCannotBeWrittenMakesNoDifference) {
  const auto enter = [] {
    with_own_mounts();
    require(mount("none", "/tmp", "tmpfs", MS_RDONLY, nullptr) == 0, "/tmp");
  };
  EXPECT_EQ(say_all(3, enter), "right x 3; ");
}

TEST_P(Environment, OfASmallDevShmHoldsALargeRegion) {
  const auto enter = [] {
    with_own_mounts();
    require(mount("none", "/dev/shm", "tmpfs", 0, "size=64m") == 0, "/dev/shm");
  };
  const auto body = [](const CommBackend& comm) -> std::string {
    auto region = comm.create_shared_region<std::byte>(std::size_t{100} << 20);
    if (comm.is_leader()) region.as_mut_span().back() = std::byte{9};
    region.fence();
    return region.as_span().back() == std::byte{9} ? "right" : "wrong";
  };
  EXPECT_EQ(say_all(2, enter, body), "right x 2; ");
}

TEST_P(Environment, WithoutDevShmMakesNoDifference) {
  const auto enter = [] {
    with_own_mounts();
    require(mount("none", "/dev", "tmpfs", 0, nullptr) == 0, "/dev");
    require(mknod("/dev/null", S_IFCHR | 0666, makedev(1, 3)) == 0, "/dev/null");
    require(mknod("/dev/urandom", S_IFCHR | 0666, makedev(1, 9)) == 0, "/dev/urandom");
  };
  EXPECT_EQ(say_all(3, enter), "right x 3; ");
}

void limit_descriptors(rlim_t most) {
  const rlimit limit{most, most};
  require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "limit of descriptors");
}

TEST_P(Environment, Of64DescriptorsIsEnoughForFiveRanks) {
  EXPECT_EQ(say_all(5, [] { limit_descriptors(64); }), "right x 5; ");
}

// The sanitizers look at memory through pipes, for which there are no descriptors.
#ifndef COBRE_ADDRESS_SANITIZER
// Every rank fails with words of this library, none hangs and none crashes.
TEST_P(Environment, OfTooFewDescriptorsIsAnErrorOnEveryRank) {
  const auto makers = GetParam().ranks(3, {.connect_timeout = 1s});
  std::vector<test::Process> ranks;
  for (const auto& make : makers) {
    ranks.emplace_back([&]() -> std::string {
      const int next = dup(0);  // the lowest that is free: nothing can be opened beyond it
      close(next);
      limit_descriptors(static_cast<rlim_t>(next) + 2);
      try {
        (void)make();
        return "it works";
      } catch (const cobre::comm::Error& error) {
        return error.what();
      }
    });
  }
  for (auto& rank : ranks) {
    const std::string words = rank.words();
    EXPECT_TRUE(words.starts_with("backend '") || words.find("rank ") != std::string::npos) << words;
    EXPECT_NE(words, "it works");
  }
}
#endif

TEST_P(Environment, OfTooLittleMemoryIsAllocationFailedOnEveryRank) {
  const test::MemoryGroup group(std::size_t{256} << 20);
  ASSERT_TRUE(group.usable());
  const auto body = [](const CommBackend& comm) -> std::string {
    try {
      (void)comm.create_shared_region<std::byte>(std::size_t{1} << 30);
      return "it has more than there is";
    } catch (const cobre::comm::AllocationFailed& error) {
      if (error.requested_bytes() != std::size_t{1} << 30) return error.what();
    }
    return work(comm);  // the communicator is as good as before
  };
  EXPECT_EQ(say_all(
                3, [&] { require(group.join(), "memory group"); }, body),
            "right x 3; ");
  EXPECT_EQ(group.killed(), 0);
}

TEST_P(Environment, OfHalfACoreIsEnoughForFourRanks) {
  const test::CpuGroup group(0.5);
  ASSERT_TRUE(group.usable());
  const auto body = [](const CommBackend& comm) -> std::string {
    for (int i = 0; i < 1000; ++i) comm.barrier();
    return work(comm);
  };
  EXPECT_EQ(say_all(
                4, [&] { require(group.join(), "cpu group"); }, body),
            "right x 4; ");
}

TEST_P(Environment, OfAnOrdinaryUserIsAsGood) {
  const auto enter = [] {
    require(setgroups(0, nullptr) == 0 && setgid(65534) == 0 && setuid(65534) == 0, "become nobody");
    // Becoming another user takes the right to be looked at away; an ordinary login does not.
    require(prctl(PR_SET_DUMPABLE, 1) == 0, "dumpable");
  };
  EXPECT_EQ(say_all(3, enter), "right x 3; ");
}

// As in many containers: system calls that fail as if the kernel did not know them, or did not allow them.
void forbid_system_calls(int error) {
  const auto answer = SECCOMP_RET_ERRNO | (static_cast<unsigned>(error) & SECCOMP_RET_DATA);
  std::array<sock_filter, 8> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, answer),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
  require(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
}

TEST_P(Environment, BehindAFilterOfSystemCallsMakesNoDifference) {
  for (const int error : {EPERM, ENOSYS}) {
    EXPECT_EQ(say_all(3, [&] { forbid_system_calls(error); }), "right x 3; ");
  }
}

TEST_P(Environment, OfADebuggerThatStopsARankIsWaitedFor) {
  test::Shared<std::atomic<bool>> over;
  auto ranks = start(3, [&](const CommBackend& comm) -> std::string {
    while (!comm.allreduce(over->load(), ReduceOp::LogicalOr)) {
    }
    return work(comm);
  });
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(10ms);
    EXPECT_EQ(ptrace(PTRACE_SEIZE, ranks[1].pid(), nullptr, nullptr), 0);
    EXPECT_EQ(ptrace(PTRACE_INTERRUPT, ranks[1].pid(), nullptr, nullptr), 0);
    int status = 0;
    EXPECT_EQ(waitpid(ranks[1].pid(), &status, 0), ranks[1].pid());
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(ptrace(PTRACE_DETACH, ranks[1].pid(), nullptr, nullptr), 0);
  }
  *over = true;
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "right");
}

void keep_to_two_cores() {
  cpu_set_t cores;
  require(sched_getaffinity(0, sizeof cores, &cores) == 0, "the cores");
  for (std::size_t core = 0, kept = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores) && ++kept > 2) CPU_CLR(core, &cores);
  }
  require(sched_setaffinity(0, sizeof cores, &cores) == 0, "two cores");
}

TEST_P(Environment, OfTwoCoresIsEnoughForSixtyFourRanks) {
  const auto add = [](const CommBackend& comm) -> std::string {
    for (int i = 0; i < 3; ++i) {
      if (comm.allreduce(comm.rank(), ReduceOp::Sum) != 64 * 63 / 2) return "wrong";
    }
    return "right";
  };
  EXPECT_EQ(say_all(64, keep_to_two_cores, add), "right x 64; ");
}

}  // namespace
