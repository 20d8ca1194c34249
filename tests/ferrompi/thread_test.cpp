// Several threads at once, with payloads verified. Run at ThreadLevel::Multiple.
#include "ferrompi/ranks.hpp"

#include <atomic>
#include <thread>

using namespace ferrompi;

namespace {

class Threads : public Ranks {
 protected:
  void SetUp() override { ASSERT_EQ(test_mpi().thread_level(), ThreadLevel::Multiple); }

  static constexpr int threads = 4;
  // MPICH does not yield: with more ranks than cores each wait costs a time slice.
  const int rounds = size <= 2 ? 100 : 10;

  // Runs `body(thread)` on all threads and rethrows the first failure.
  template <class Body>
  void on_all_threads(Body body) const {
    std::vector<std::thread> running;
    std::vector<std::exception_ptr> failures(threads);
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        try {
          body(t);
        } catch (...) {
          failures[static_cast<std::size_t>(t)] = std::current_exception();
        }
      });
    }
    for (auto& thread : running) thread.join();
    for (const auto& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }
};

}  // namespace

TEST_F(Threads, ShareACommunicatorForMessages) {
  std::atomic<int> wrong{0};
  on_all_threads([&](int t) {
    for (int round = 0; round < rounds; ++round) {
      std::array<int, 4> in{};
      const std::array<int, 4> out{rank, t, round, rank ^ round};
      auto receive = world.irecv(in, previous, 1000 + t);
      auto send = world.isend(out, next, 1000 + t);
      std::vector<Request> both;
      both.push_back(std::move(receive));
      both.push_back(std::move(send));
      wait_all(both);
      if (in != std::array<int, 4>{previous, t, round, previous ^ round}) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, ReduceOnCommunicatorsOfTheirOwnWithCapturesOfTheirOwn) {
  std::vector<Communicator> own;
  for (int t = 0; t < threads; ++t) own.push_back(world.duplicate());
  std::atomic<int> wrong{0};
  on_all_threads([&](int t) {
    const auto& comm = own[static_cast<std::size_t>(t)];
    for (int round = 0; round < rounds; ++round) {
      const int bias = 100 * t + round;
      // The same call site on every thread at the same time.
      if (comm.allreduce(rank, [bias](int a, int b) { return a + b + bias; }) !=
          size * (size - 1) / 2 + bias * (size - 1)) {
        ++wrong;
      }
      if (comm.iallreduce(rank, [bias](int a, int b) { return a + b + bias; }).get() !=
          size * (size - 1) / 2 + bias * (size - 1)) {
        ++wrong;
      }
      const auto all = comm.allgatherv(std::vector<int>(self + 1, bias + rank));
      if (all.values.back() != bias + size - 1 || all.values.front() != bias) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// The first plans of a communicator make what tells later ones whether it is still there.
TEST_F(Threads, MakeTheFirstPlansOfACommunicatorAtOnceAndStartThemSideBySide) {
  const auto fresh = world.duplicate();
  std::atomic<int> wrong{0};
  on_all_threads([&](int t) {
    std::array<int, 3> in{};
    std::array<int, 3> out{};
    std::vector<PersistentRequest> plans;
    plans.push_back(fresh.recv_init(in, previous, 100 + t));
    plans.push_back(fresh.send_init(out, next, 100 + t));
    for (int round = 0; round < 10; ++round) {
      in.fill(-1);
      out = {rank, t, round};
      start_all(plans);
      wait_all(plans);
      if (in != std::array<int, 3>{previous, t, round}) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, TakeMatchedMessagesFromEachOtherSafely) {
  const int messages = rounds * threads;
  std::atomic<int> taken{0};
  std::atomic<long> sum{0};
  std::vector<Pending<int>> sends;
  for (int i = 0; i < messages; ++i) sends.push_back(world.isend(i, next, 7));
  on_all_threads([&](int) {
    while (taken < messages) {
      auto message = world.improbe(previous, 7);
      if (!message) continue;
      ++taken;
      sum += message->recv<int>().at(0);
    }
  });
  wait_all(sends);
  EXPECT_EQ(taken, messages);
  EXPECT_EQ(sum, static_cast<long>(messages) * (messages - 1) / 2);
}

// In debug builds a window refuses calls of two threads at once. Plain access is no call.
TEST_F(Threads, ReadAWindowWhileAnotherIsInACallOfIt) {
  const auto node = world.split_shared();
  auto window = SharedWindow<int>::allocate(node, 2);
  std::ranges::fill(window.local(), 100 + node.rank());
  window.fence();
  if (node.rank() == 0) {
    for (int r = 1; r < node.size(); ++r) EXPECT_EQ(node.recv<int>(r, 1), 100);
    window.fence();
    return;
  }
  // It stays inside until rank 0 comes.
  std::thread inside([&] {
    while (true) {
      try {
        return window.fence();
      } catch (const MpiError&) {
        std::this_thread::yield();  // the other thread was inside for a moment, to look whether this one is
      }
    }
  });
#if FERROMPI_THREAD_CHECKS
  const auto is_free = [&] {
    try {
      window.sync();
      return true;
    } catch (const MpiError&) {
      return false;
    }
  };
  while (is_free()) std::this_thread::yield();
#endif
  EXPECT_EQ(window.local()[1], 100 + node.rank());
  node.send(std::as_const(window).remote(0)[1], 0, 1);
  inside.join();
}
