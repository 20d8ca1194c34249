// Ranks as processes that may die: forked from the test, watched from outside, ended by their id when they take too
// long.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace test {

using Clock = std::chrono::steady_clock;

/// Memory that the test and all its processes see.
template <class T>
class Shared {
 public:
  Shared() : value_(map()) { new (value_) T(); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(value_, sizeof(T)); }
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  static T* map() {
    return static_cast<T*>(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  T* value_;
};

/// Polls until `condition` holds; false after that long.
template <class Condition>
bool eventually(Condition&& condition, std::chrono::milliseconds longest = std::chrono::seconds(20)) {
  const auto deadline = Clock::now() + longest;
  while (!condition()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

/// Where processes wait for each other by other means than those under test. A collective does not do: whoever leaves
/// it first may die before the others have left it.
class Meeting {
 public:
  /// Returns when as many have come as `all` says; may be used again and again.
  void wait_for(std::size_t all) {
    const std::size_t full = (came_++ / all + 1) * all;
    eventually([&] { return came_ >= full; });
  }

 private:
  std::atomic<std::size_t> came_{0};
};

/// A name that no other group on this machine uses.
inline std::string unique_name() {
  static std::atomic<int> next{0};
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(next++);
}

/// One process. What `body` returns is what it says; it may also die before.
class Process {
 public:
  explicit Process(const std::function<std::string()>& body) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      std::string words;
      try {
        words = body();
      } catch (const std::exception& error) {
        words = std::string("uncaught: ") + error.what();
      }
      const ssize_t written = write(ends[1], words.data(), words.size());
      _exit(written == static_cast<ssize_t>(words.size()) ? 0 : 99);
    }
    close(ends[1]);
    words_ = ends[0];
    process_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  }
  Process(Process&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)),
        words_(std::exchange(other.words_, -1)),
        process_(std::exchange(other.process_, -1)),
        status_(other.status_) {}
  Process& operator=(Process&&) = delete;
  ~Process() {
    if (pid_ > 0 && !status_) {
      ::kill(pid_, SIGKILL);
      (void)await_end();
    }
    if (words_ >= 0) close(words_);
    if (process_ >= 0) close(process_);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  /// Whether it has ended, without waiting for it.
  [[nodiscard]] bool ended() const {
    pollfd entry{process_, POLLIN, 0};
    return poll(&entry, 1, 0) > 0;
  }

  /// Returns when it has nothing to do but to wait. One that is kept from running by a busy machine is not at rest.
  void await_rest() const {
    int looks = 0;
    eventually([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      looks = state() == 'R' || state() == 'D' ? 0 : looks + 1;
      return looks == 5;
    });
  }

  /// Returns when it is stopped.
  void await_stop() const {
    eventually([&] { return state() == 'T'; });
  }

  /// What it said. A process that does not end in time is a failure, and is ended.
  std::string words(std::chrono::milliseconds longest = std::chrono::seconds(40)) {
    pollfd entry{process_, POLLIN, 0};
    if (poll(&entry, 1, static_cast<int>(longest.count())) == 0) {
      ADD_FAILURE() << "process " << pid_ << " hangs; it is ended";
      ::kill(pid_, SIGKILL);
    }
    (void)await_end();
    std::string words;
    char buffer[512];
    for (ssize_t n; (n = read(words_, buffer, sizeof buffer)) > 0;) words.append(buffer, static_cast<std::size_t>(n));
    return words;
  }

  /// The wait status, once it has ended.
  int await_end() {
    if (!status_) {
      int status = 0;
      waitpid(pid_, &status, 0);
      status_ = status;
    }
    return *status_;
  }

 private:
  // As /proc tells it: R for one that runs or could run, D for one that waits for the disk.
  [[nodiscard]] char state() const {
    std::ifstream stat("/proc/" + std::to_string(pid_) + "/stat");
    const std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
    const std::size_t name_ends = text.rfind(')');
    return name_ends + 2 < text.size() ? text[name_ends + 2] : 'X';
  }

  pid_t pid_ = 0;
  int words_ = -1;
  int process_ = -1;
  std::optional<int> status_;
};

/// Each rank a process: makes its communicator and, when all have theirs, runs `body` and says what that returns.
template <class Make, class Body>
std::vector<Process> start_group(std::size_t size, const Make& make, const Body& body) {
  const Shared<Meeting> made;
  std::vector<Process> ranks;
  for (std::size_t rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank]() -> std::string {
      const auto comm = make(rank);
      made->wait_for(size);
      return body(comm);
    });
  }
  return ranks;
}

}  // namespace test
