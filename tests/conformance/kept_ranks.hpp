// Ranks that stay from case to case: starting a group takes longer than most cases do.
//
// A case that leaves its communicator unfit for the next, or wants one that nobody has used, asks for fresh ranks.
#pragma once

#include <sys/prctl.h>
#include <sys/socket.h>

#include <barrier>
#include <optional>

#include "conformance/worlds.hpp"

namespace conformance {

/// A rank that failed leaves, so that those who wait for it are told.
template <class Communicator>
void run_case(std::size_t rank, std::optional<Communicator>& comm,
              const std::function<void(const Communicator&)>& body) {
  if (comm) guarded(rank, [&] { body(*comm); });
  if (testing::Test::HasFailure()) comm.reset();
}

template <class Backend>
class KeptThreads {
 public:
  using Communicator = typename Backend::Communicator;
  using Body = std::function<void(const Communicator&)>;

  explicit KeptThreads(std::size_t ranks) : turn_(static_cast<std::ptrdiff_t>(ranks) + 1) {
    const std::string group = unique_group_name();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      threads_.emplace_back([this, rank, ranks, group] { live(rank, ranks, group); });
    }
  }
  KeptThreads(const KeptThreads&) = delete;
  KeptThreads& operator=(const KeptThreads&) = delete;
  ~KeptThreads() {
    body_ = nullptr;
    turn_.arrive_and_wait();
    for (auto& thread : threads_) thread.join();
  }

  [[nodiscard]] std::size_t size() const { return threads_.size(); }
  void run(const Body& body) {
    body_ = &body;
    turn_.arrive_and_wait();  // begins
    turn_.arrive_and_wait();  // has ended everywhere
  }

 private:
  void live(std::size_t rank, std::size_t ranks, const std::string& group) {
    std::optional<Communicator> comm;
    guarded(rank, [&] { comm.emplace(Backend::make(rank, ranks, group)); });
    for (;;) {
      turn_.arrive_and_wait();
      if (body_ == nullptr) return guarded(rank, [&] { comm.reset(); });
      run_case(rank, comm, *body_);
      turn_.arrive_and_wait();
    }
  }

  std::barrier<> turn_;
  const Body* body_ = nullptr;  // written between two turns
  std::vector<std::thread> threads_;
};

/// This program's ends of the sockets to all processes that it keeps, of whichever world.
inline std::vector<int>& ends_of_all() {
  static std::vector<int> ends;
  return ends;
}

template <class Backend>
class KeptProcesses {
 public:
  using Communicator = typename Backend::Communicator;
  using Body = std::function<void(const Communicator&)>;

  explicit KeptProcesses(std::size_t ranks) {
    const std::string group = unique_group_name();
    prepare<Backend>();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      int ends[2];
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("socketpair failed");
      const pid_t child = fork_rank([&] {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        for (const int earlier : ends_of_all()) close(earlier);  // or they do not end with the test
        live(rank, ranks, group, ends[1]);
      });
      close(ends[1]);
      processes_.push_back({child, ends[0]});
      ends_of_all().push_back(ends[0]);
    }
  }
  KeptProcesses(const KeptProcesses&) = delete;
  KeptProcesses& operator=(const KeptProcesses&) = delete;
  ~KeptProcesses() {
    for (const Process& process : processes_) {
      close(process.socket);
      std::erase(ends_of_all(), process.socket);
    }
    const auto deadline = case_deadline();
    for (std::size_t rank = 0; rank < size(); ++rank) expect_success(rank, processes_[rank].id, deadline);
  }

  [[nodiscard]] std::size_t size() const { return processes_.size(); }
  /// `body` is as old as the first rank: its address tells the ranks which it is.
  void run(const Body& body) {
    const Body* const address = &body;
    for (const Process& process : processes_) (void)send(process.socket, &address, sizeof address, MSG_NOSIGNAL);
    const auto deadline = case_deadline();
    for (std::size_t rank = 0; rank < size(); ++rank) await(rank, deadline);
  }

 private:
  struct Process {
    pid_t id;
    int socket;
  };

  static void live(std::size_t rank, std::size_t ranks, const std::string& group, int socket) {
    std::optional<Communicator> comm;
    guarded(rank, [&] { comm.emplace(Backend::make(rank, ranks, group)); });
    const Body* body = nullptr;
    while (recv(socket, &body, sizeof body, MSG_WAITALL) == sizeof body) {
      run_case(rank, comm, *body);
      std::fflush(nullptr);
      const char failed = testing::Test::HasFailure();
      (void)send(socket, &failed, sizeof failed, MSG_NOSIGNAL);
    }
    guarded(rank, [&] { comm.reset(); });
  }

  void await(std::size_t rank, std::chrono::steady_clock::time_point deadline) {
    const Process& process = processes_[rank];
    char failed = 0;
    if (!wait_until_readable(process.socket, deadline)) {
      ADD_FAILURE() << "rank " << rank << " hangs; it is ended";
      kill(process.id, SIGKILL);
    } else if (recv(process.socket, &failed, sizeof failed, 0) != sizeof failed) {
      ADD_FAILURE() << "rank " << rank << " has ended in the middle";
    } else {
      EXPECT_FALSE(failed) << "on rank " << rank;
    }
  }

  std::vector<Process> processes_;
};

/// Keeps one group of ranks, until another number of them is asked for or a case has failed.
template <class Ranks>
class Keeper : public testing::Environment {
 public:
  static void run(std::size_t ranks, const typename Ranks::Body& body) {
    std::optional<Ranks>& kept = keeper_->kept_;
    if (kept && kept->size() != ranks) kept.reset();
    if (!kept) kept.emplace(ranks);
    kept->run(body);
    if (testing::Test::HasFailure()) kept.reset();
  }
  void TearDown() override { kept_.reset(); }

 private:
  inline static Keeper* const keeper_ = [] {
    auto* const keeper = new Keeper;
    testing::AddGlobalTestEnvironment(keeper);  // which owns it
    return keeper;
  }();
  std::optional<Ranks> kept_;
};

template <class Backend>
struct KeptThreadWorld : ThreadWorld<Backend> {
  static void run_kept(std::size_t ranks, const typename KeptThreads<Backend>::Body& body) {
    Keeper<KeptThreads<Backend>>::run(ranks, body);
  }
};

template <class Backend>
struct KeptProcessWorld : ProcessWorld<Backend> {
  static void run_kept(std::size_t ranks, const typename KeptProcesses<Backend>::Body& body) {
    Keeper<KeptProcesses<Backend>>::run(ranks, body);
  }
};

}  // namespace conformance
