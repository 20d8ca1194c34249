// Threads inside of ranks, with std::thread: all of them share the rank's communicator, and take turns.
//
// The integral of 4 / (1 + x²) from 0 to 1 in slabs. Each thread computes the slabs that are its own and adds them up
// over all ranks itself. A communicator does one operation at a time, and all ranks must do the same ones in the same
// order: thread 0 goes first on every rank, then thread 1, and so on.
#include <cobre/comm.hpp>

#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <numbers>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

/// Lets threads through in the order of their numbers.
class Turns {
 public:
  template <class Action>
  void take(std::size_t turn, Action&& action) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == turn; });
    action();
    ++next_;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
};

double slab(std::size_t index, std::size_t slabs) {
  const double width = 1.0 / static_cast<double>(slabs);
  const double x = (static_cast<double>(index) + 0.5) * width;
  return width * 4.0 / (1.0 + x * x);
}

}  // namespace

int main() {
  return cobre::comm::run([](const auto& comm) {
    constexpr std::size_t slabs = 1'000'000;
    constexpr std::size_t threads = 4;  // on every rank: each of them makes one call
    // Each thread of each rank has a block of its own.
    const cobre::comm::BlockDistribution share(slabs, comm.size() * threads);
    std::vector<double> totals(threads);
    Turns turns;

    std::vector<std::thread> workers;
    workers.reserve(threads);
    for (std::size_t thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&, thread] {
        const std::size_t block = comm.rank() * threads + thread;
        double area = 0;
        for (std::size_t i = 0; i < share.count(block); ++i) area += slab(share.start(block) + i, slabs);
        turns.take(thread, [&] { totals[thread] = comm.allreduce(area, cobre::comm::ReduceOp::Sum); });
      });
    }
    for (std::thread& worker : workers) worker.join();

    double pi = 0;
    for (const double total : totals) pi += total;
    if (std::abs(pi - std::numbers::pi) > 1e-9) throw std::runtime_error("this is not pi");
    if (comm.rank() == 0) {
      std::printf("pi to nine places by %zu threads on each of %zu rank(s); recommended here: %zu\n", threads,
                  comm.size(), comm.topology().recommended_threads(0));
    }
  });
}
