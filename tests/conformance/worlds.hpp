// Starting ranks: alone, as threads of this process, or as processes of their own.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace conformance {

inline std::vector<std::size_t> usual_rank_counts() {
  return {1, 2, 3, 4, 5, 8};
}

/// A name that no other job on this machine uses.
inline std::string unique_group_name() {
  static std::atomic<int> next{0};
  return "conformance-" + std::to_string(getpid()) + "-" + std::to_string(next++);
}

/// Runs `body` and turns an exception into a failure that names the rank.
inline void guarded(std::size_t rank, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "rank " << rank << " threw: " << error.what();
  } catch (...) {
    ADD_FAILURE() << "rank " << rank << " threw something that is no std::exception";
  }
}

/// Ranks as threads. `Backend::make(rank, size, group)` is called on each of them.
template <class Backend>
struct ThreadWorld {
  using Communicator = typename Backend::Communicator;
  static std::vector<std::size_t> rank_counts() { return usual_rank_counts(); }

  static void run(std::size_t ranks, const std::function<void(const Communicator&)>& body) {
    const std::string group = unique_group_name();
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        guarded(rank, [&] {
          const Communicator comm = Backend::make(rank, ranks, group);
          body(comm);
        });
      });
    }
    for (auto& thread : threads) thread.join();
  }
};

/// What a backend needs before any rank is forked.
template <class Backend>
void prepare() {
  if constexpr (requires { Backend::prepare(); }) Backend::prepare();
}

template <class Life>
pid_t fork_rank(const Life& life) {
  std::fflush(nullptr);  // or the child prints again what waits in our buffers
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child > 0) return child;
  life();
  std::fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

inline std::chrono::steady_clock::time_point case_deadline() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(50);
}

inline bool wait_until_readable(int descriptor, std::chrono::steady_clock::time_point deadline) {
  pollfd readable{descriptor, POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return poll(&readable, 1, std::max(0, static_cast<int>(left.count()))) != 0;
}

inline void expect_success(std::size_t rank, pid_t child, std::chrono::steady_clock::time_point deadline) {
  const int ended = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (!wait_until_readable(ended, deadline)) {
    ADD_FAILURE() << "rank " << rank << " hangs; it is ended";
    kill(child, SIGKILL);
  }
  close(ended);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "rank " << rank << (WIFSIGNALED(status) ? " was killed by signal " : " failed with exit code ")
      << (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/// Ranks as processes, forked from this one, ended by their id when they take too long.
template <class Backend>
struct ProcessWorld {
  using Communicator = typename Backend::Communicator;
  static std::vector<std::size_t> rank_counts() { return usual_rank_counts(); }

  static void run(std::size_t ranks, const std::function<void(const Communicator&)>& body) {
    const std::string group = unique_group_name();
    prepare<Backend>();
    std::vector<pid_t> children;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      children.push_back(fork_rank([&] {
        guarded(rank, [&] {
          const Communicator comm = Backend::make(rank, ranks, group);
          body(comm);
        });
      }));
    }
    const auto deadline = case_deadline();
    for (std::size_t rank = 0; rank < ranks; ++rank) expect_success(rank, children[rank], deadline);
  }
};

}  // namespace conformance
