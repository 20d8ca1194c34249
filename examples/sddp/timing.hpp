// Where the time goes. Each rank notes how long it spent in each collective; when all notes are laid side by side, what
// the last to arrive spent is what the exchange itself costs, and what the others spent beyond that is waiting.
#pragma once

#include <cobre/comm/observed.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace sddp {

/// The notes of one rank; an observer of its communicator.
class Recorder {
 public:
  using Clock = std::chrono::steady_clock;

  void operator()(const cobre::comm::ObservedOperation& operation) {
    exchanges_.push_back(std::chrono::duration<double>(operation.time).count());
    bytes_ += operation.bytes;
  }

  /// Runs `work` and counts its time as solving.
  template <class Work>
  void solve(const Work& work) {
    const auto begin = Clock::now();
    work();
    solving_ += std::chrono::duration<double>(Clock::now() - begin).count();
  }

  /// Runs something collective that no observer sees.
  template <class Work>
  void exchange(const Work& work) {
    const auto begin = Clock::now();
    work();
    exchanges_.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }

  [[nodiscard]] double solving() const { return solving_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<double>& exchanges() const { return exchanges_; }
  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  Clock::time_point start_ = Clock::now();
  std::vector<double> exchanges_;
  double solving_ = 0.0;
  std::size_t bytes_ = 0;
};

/// The seconds of one rank.
struct TimeSplit {
  double total = 0.0, solve = 0.0, communicate = 0.0, wait = 0.0;
  [[nodiscard]] double rest() const { return total - solve - communicate - wait; }
};

/// Collective. Every rank's split, on every rank; all have made the same collectives.
template <cobre::comm::Communicator C>
std::vector<TimeSplit> split_times(const C& comm, const Recorder& recorder) {
  std::vector<TimeSplit> splits =
      comm.allgatherv(std::vector{TimeSplit{recorder.elapsed(), recorder.solving(), 0.0, 0.0}}).values;
  const auto all = comm.allgatherv(recorder.exchanges());
  const std::size_t calls = recorder.exchanges().size();
  for (std::size_t call = 0; call < calls; ++call) {
    double least = all.values[call];
    for (std::size_t rank = 1; rank < splits.size(); ++rank) least = std::min(least, all.values[rank * calls + call]);
    for (std::size_t rank = 0; rank < splits.size(); ++rank) {
      splits[rank].communicate += least;
      splits[rank].wait += all.values[rank * calls + call] - least;
    }
  }
  return splits;
}

/// How long each rank solved, over what the average one did: 1 is even, and who has less waits for who has more.
[[nodiscard]] inline std::vector<double> imbalances(std::span<const TimeSplit> splits) {
  double sum = 0.0;
  for (const TimeSplit& split : splits) sum += split.solve;
  std::vector<double> shares;
  for (const TimeSplit& split : splits) {
    shares.push_back(sum > 0.0 ? split.solve * static_cast<double>(splits.size()) / sum : 1.0);
  }
  return shares;
}

/// That of the busiest rank, for which all the others wait.
[[nodiscard]] inline double imbalance(std::span<const TimeSplit> splits) {
  const std::vector<double> shares = imbalances(splits);
  return shares.empty() ? 1.0 : std::ranges::max(shares);
}

}  // namespace sddp
