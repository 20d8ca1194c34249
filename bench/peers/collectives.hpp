// The collectives as every contestant runs them: the same buffers, in rotation, the same loop, the data checked before
// and after.
#pragma once

#include <cstdlib>
#include <list>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "sampling.hpp"

namespace bench {

/// What the command line of a contestant says: `<batch> <total> <operation> <bytes>[,<bytes>…]`, where the first two
/// are microseconds.
struct Task {
  Pace pace;
  std::string operation;
  std::vector<std::size_t> sizes;
};

inline Task read_task(std::span<char* const> words) {
  if (words.size() != 4) throw std::invalid_argument("give microseconds of a batch, of all, an operation and sizes");
  Task task{{std::stod(words[0]), std::stod(words[1])}, words[2], {}};
  std::istringstream sizes(words[3]);
  for (std::string size; std::getline(sizes, size, ',');) task.sizes.push_back(std::stoul(size));
  return task;
}

/// What is said instead of numbers that would stand under a thread level which was not granted.
inline constexpr const char* without_threads = "this MPI library does not grant MPI_THREAD_MULTIPLE\n";

/// Who gives how many of the numbers of an allgatherv, in both of the integers that libraries want: `total` things that
/// are `width` numbers wide.
struct Parts {
  Parts(std::size_t total, std::size_t ranks, std::size_t width = 1) {
    for (std::size_t r = 0; r < ranks; ++r) {
      counts.push_back((total / ranks + (r < total % ranks ? 1 : 0)) * width);
      displs.push_back(r == 0 ? 0 : displs[r - 1] + counts[r - 1]);
    }
    int_counts.assign(counts.begin(), counts.end());
    int_displs.assign(displs.begin(), displs.end());
  }
  std::vector<std::size_t> counts, displs;
  std::vector<int> int_counts, int_displs;
};

/// Ordinary private memory.
class Vectors {
 public:
  std::span<double> allocate(std::size_t n) { return vectors_.emplace_back(n); }

 private:
  std::list<std::vector<double>> vectors_;
};

/// One operation with one size. `Ranks` has what sample() needs, rank, size, allreduce(send, recv), broadcast(buffer)
/// and allgatherv(send, recv, parts), and may have the others of run_other(); roots are rank 0, numbers are doubles.
/// `Memory` gives buffers that live as long as it.
template <class Ranks, class Memory>
class Point {
 public:
  Point(Ranks& ranks, Memory& memory, const std::string& operation, std::size_t bytes)
      : ranks_(ranks),
        operation_(operation),
        count_(bytes / sizeof(double)),
        parts_(count_, static_cast<std::size_t>(ranks.size)),
        // Enough of them that a large message is not found in the caches where the last one left it.
        sets_(std::clamp<std::size_t>((std::size_t{96} << 20) / std::max<std::size_t>(bytes, 1), 2, 8)) {
    for (std::size_t i = 0; i < sets_; ++i) {
      send_.push_back(memory.allocate(std::max(count_, parts_.counts.size())));
      recv_.push_back(memory.allocate(std::max(count_, parts_.counts.size())));
      std::fill(send_[i].begin(), send_[i].end(), 1.0 + ranks_.rank);
      std::fill(recv_[i].begin(), recv_[i].end(), 0.0);
    }
  }

  std::vector<double> run(Pace pace) {
    if (operation_ == "barrier") {
      return measure(
          pace, [&](std::size_t) { ranks_.barrier(); }, [](std::size_t) { return true; });
    }
    if (operation_ == "broadcast") {
      return measure(
          pace, [&](std::size_t i) { ranks_.broadcast(send_[i].first(count_)); },
          [&](std::size_t i) { return all_are(send_[i].first(count_), 1.0); });
    }
    if (operation_ == "allgatherv") {
      const std::size_t own = parts_.counts[static_cast<std::size_t>(ranks_.rank)];
      return measure(
          pace, [&, own](std::size_t i) { ranks_.allgatherv(send_[i].first(own), recv_[i].first(count_), parts_); },
          [&](std::size_t i) { return is_gathered(recv_[i]); });
    }
    if constexpr (requires { ranks_.alltoall(send_[0], recv_[0]); }) {
      if (operation_ != "allreduce" && operation_ != "regions") return run_other(pace);
    }
    const double sum = sum_up_to(ranks_.size);  // allreduce, wherever its buffers lie
    return measure(
        pace, [&](std::size_t i) { ranks_.allreduce(send_[i].first(count_), recv_[i].first(count_)); },
        [&, sum](std::size_t i) { return all_are(recv_[i].first(count_), sum); });
  }

 private:
  // What only some of the contestants have. Ranks get equal parts of what has to be shared out.
  std::vector<double> run_other(Pace pace) {
    const auto ranks = static_cast<std::size_t>(ranks_.size);
    const std::size_t part = std::max<std::size_t>(count_ / ranks, 1);
    const bool root = ranks_.rank == 0;
    const auto each_sent_its_own = [=](std::span<const double> values) {
      for (std::size_t r = 0; r < ranks; ++r) {
        if (!all_are(values.subspan(r * part, part), 1.0 + static_cast<double>(r))) return false;
      }
      return true;
    };
    if (operation_ == "reduce" || operation_ == "scan" || operation_ == "exscan") return reduce_or_scan(pace);
    if (operation_ == "reduce_scatter_block") {
      const double sum = sum_up_to(ranks_.size);
      return measure(
          pace,
          [&, part](std::size_t i) { ranks_.reduce_scatter_block(send_[i].first(part * ranks), recv_[i].first(part)); },
          [&, part, sum](std::size_t i) { return all_are(recv_[i].first(part), sum); });
    }
    if (operation_ == "gather" || operation_ == "allgather") {
      const bool to_all = operation_ == "allgather";
      return measure(
          pace,
          [&, part, to_all](std::size_t i) {
            const auto send = send_[i].first(part);
            const auto recv = recv_[i].first(part * ranks);
            to_all ? ranks_.allgather(send, recv) : ranks_.gather(send, recv);
          },
          [&, root, to_all](std::size_t i) { return (!to_all && !root) || each_sent_its_own(recv_[i]); });
    }
    if (operation_ == "scatter") {
      return measure(
          pace, [&, part](std::size_t i) { ranks_.scatter(send_[i].first(part * ranks), recv_[i].first(part)); },
          [&, part](std::size_t i) { return all_are(recv_[i].first(part), 1.0); });
    }
    if (operation_ == "alltoall") {
      return measure(
          pace,
          [&, part](std::size_t i) { ranks_.alltoall(send_[i].first(part * ranks), recv_[i].first(part * ranks)); },
          [&](std::size_t i) { return each_sent_its_own(recv_[i]); });
    }
    if (operation_.ends_with('v')) return run_with_counts(pace);
    if (operation_ != "message") throw std::invalid_argument("there is no operation " + operation_);
    // There and back between two ranks, so that one clock is enough; half of it is one way.
    auto times = measure(
        pace,
        [&](std::size_t i) {
          if (ranks_.rank > 1) return;
          if (root) ranks_.send(send_[i].first(count_), 1);
          ranks_.recv(recv_[i].first(count_), root ? 1 : 0);
          if (!root) ranks_.send(send_[i].first(count_), 0);
        },
        [&, root](std::size_t i) { return ranks_.rank > 1 || all_are(recv_[i].first(count_), root ? 2.0 : 1.0); });
    for (double& time : times) time /= 2;
    return times;
  }

  std::vector<double> reduce_or_scan(Pace pace) {
    enum class Kind { Reduce, Scan, Exscan };
    const Kind kind = operation_ == "reduce" ? Kind::Reduce : operation_ == "scan" ? Kind::Scan : Kind::Exscan;
    const bool root = ranks_.rank == 0;
    // Of nobody before it, the first rank of an exscan has no sum.
    const bool has_result = kind == Kind::Scan || root == (kind == Kind::Reduce);
    const double sum = sum_up_to(kind == Kind::Reduce ? ranks_.size : ranks_.rank + (kind == Kind::Scan ? 1 : 0));
    return measure(
        pace,
        [&, kind](std::size_t i) {
          const auto send = send_[i].first(count_);
          const auto recv = recv_[i].first(count_);
          switch (kind) {
            case Kind::Reduce: return ranks_.reduce(send, recv);
            case Kind::Scan: return ranks_.scan(send, recv);
            case Kind::Exscan: return ranks_.exscan(send, recv);
          }
        },
        [&, has_result, sum](std::size_t i) { return !has_result || all_are(recv_[i].first(count_), sum); });
  }

  // The same with counts and displacements: who has which part is said by each call.
  std::vector<double> run_with_counts(Pace pace) {
    const std::size_t own = parts_.counts[static_cast<std::size_t>(ranks_.rank)];
    const bool root = ranks_.rank == 0;
    if (operation_ == "gatherv") {
      return measure(
          pace, [&, own](std::size_t i) { ranks_.gatherv(send_[i].first(own), recv_[i].first(count_), parts_); },
          [&, root](std::size_t i) { return !root || is_gathered(recv_[i]); });
    }
    if (operation_ == "scatterv") {
      return measure(
          pace, [&, own](std::size_t i) { ranks_.scatterv(send_[i].first(count_), recv_[i].first(own), parts_); },
          [&, own](std::size_t i) { return all_are(recv_[i].first(own), 1.0); });
    }
    if (operation_ != "alltoallv") throw std::invalid_argument("there is no operation " + operation_);
    // What two ranks have for each other must be as long for both, so what does not divide is left out.
    const auto ranks = parts_.counts.size();
    const std::size_t part = std::max<std::size_t>(count_ / ranks, 1);
    parts_ = Parts(part * ranks, ranks);
    return measure(
        pace,
        [&, ranks, part](std::size_t i) {
          ranks_.alltoallv(send_[i].first(part * ranks), recv_[i].first(part * ranks), parts_);
        },
        [&](std::size_t i) { return is_gathered(recv_[i]); });
  }

  static double sum_up_to(int last) { return last * (last + 1) / 2.0; }
  static bool all_are(std::span<const double> values, double expected) {
    return std::all_of(values.begin(), values.end(), [&](double v) { return v == expected; });
  }

  [[nodiscard]] bool is_gathered(std::span<const double> values) const {
    for (std::size_t r = 0; r < parts_.counts.size(); ++r) {
      if (!all_are(values.subspan(parts_.displs[r], parts_.counts[r]), 1.0 + static_cast<double>(r))) return false;
    }
    return true;
  }

  template <class Call, class Check>
  std::vector<double> measure(Pace pace, const Call& call, const Check& check) {
    const auto call_and_check = [&](std::size_t i) {
      call(i);
      if (check(i)) return;
      std::fprintf(stderr, "rank %d: wrong data in %s of %zu bytes\n", ranks_.rank, operation_.c_str(),
                   count_ * sizeof(double));
      std::exit(1);
    };
    for (std::size_t i = 0; i < sets_; ++i) call_and_check(i);
    // What was right must be written again to be right again.
    for (auto& buffer : recv_) std::fill(buffer.begin(), buffer.end(), 0.0);
    auto times = sample(ranks_, sets_, pace, call);
    for (std::size_t i = 0; i < sets_; ++i) call_and_check(i);
    return times;
  }

  Ranks& ranks_;
  std::string operation_;
  std::size_t count_;
  Parts parts_;
  std::size_t sets_;
  std::vector<std::span<double>> send_, recv_;
};

/// Runs the task, with buffers from `make_memory()`, and reports each point.
template <class Ranks, class MakeMemory>
void compete(Ranks& ranks, const Task& task, const MakeMemory& make_memory) {
  for (const std::size_t bytes : task.sizes) {
    auto memory = make_memory();
    const auto times = Point(ranks, memory, task.operation, bytes).run(task.pace);
    if (ranks.rank == 0) report(task.operation, bytes, times);
  }
}

template <class Ranks>
void compete(Ranks& ranks, const Task& task) {
  compete(ranks, task, [] { return Vectors(); });
}

}  // namespace bench
