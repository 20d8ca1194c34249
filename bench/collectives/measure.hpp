// The loops of the comparison, the same for us and for every peer: batches of calls, rotated buffers, the slowest rank
// of each batch, the median of the batches; data checked in between.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace bench {

inline double now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A core for each rank, where there are enough: otherwise the scheduler's moves are what is measured.
inline void pin(int rank, int size) {
  if (size > static_cast<int>(std::thread::hardware_concurrency())) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(rank, &cpus);
  sched_setaffinity(0, sizeof(cpus), &cpus);
}

struct Point {
  std::string operation;
  std::size_t bytes;
};

/// `Ranks` has rank, size, barrier(), allreduce(send, recv, n), broadcast(buffer, n), allgatherv(send, recv, n_each)
/// and maximum(value); numbers are doubles. `Memory` gives buffers: allocate(n) is a span that lives as long as it.
template <class Ranks, class Memory>
class Comparison {
 public:
  Comparison(Ranks& ranks, Memory& memory, double effort) : ranks_(ranks), memory_(memory), effort_(effort) {}

  void run(const Point& point) {
    const std::size_t count = point.bytes / sizeof(double);
    const auto size = static_cast<std::size_t>(ranks_.size);
    const std::size_t each = std::max<std::size_t>(1, count / size);
    const std::size_t sets =
        std::clamp<std::size_t>((std::size_t{96} << 20) / std::max<std::size_t>(point.bytes, 1), 2, 8);
    std::vector<std::span<double>> send(sets);
    std::vector<std::span<double>> recv(sets);
    for (std::size_t i = 0; i < sets; ++i) {
      send[i] = memory_.allocate(std::max<std::size_t>(count, 1));
      recv[i] = memory_.allocate(std::max<std::size_t>(each * size, 1));
      std::fill(send[i].begin(), send[i].end(), 1.0 + ranks_.rank);
      std::fill(recv[i].begin(), recv[i].end(), 0.0);
    }
    if (point.operation == "barrier") {
      measure(
          point, sets, [&](std::size_t) { ranks_.barrier(); }, [](std::size_t) { return true; });
    } else if (point.operation == "broadcast") {
      measure(
          point, sets, [&](std::size_t i) { ranks_.broadcast(send[i].data(), count); },
          [&](std::size_t i) { return all_of(send[i].first(count), 1.0); });
    } else if (point.operation == "allgatherv") {
      measure(
          point, sets, [&](std::size_t i) { ranks_.allgatherv(send[i].data(), recv[i].data(), each); },
          [&](std::size_t i) {
            for (std::size_t r = 0; r < size; ++r) {
              if (!all_of(recv[i].subspan(each * r, each), 1.0 + static_cast<double>(r))) return false;
            }
            return true;
          });
    } else {
      const double sum = ranks_.size * (ranks_.size + 1) / 2.0;
      measure(
          point, sets, [&](std::size_t i) { ranks_.allreduce(send[i].data(), recv[i].data(), count); },
          [&](std::size_t i) { return all_of(recv[i].first(count), sum); });
    }
    memory_.release();
  }

 private:
  static bool all_of(std::span<const double> values, double expected) {
    return std::all_of(values.begin(), values.end(), [&](double v) { return v == expected; });
  }

  template <class Call, class Check>
  void measure(const Point& point, std::size_t sets, Call&& call, Check&& check) {
    const auto call_and_check = [&](std::size_t i) {
      call(i);
      if (check(i)) return;
      std::fprintf(stderr, "rank %d: wrong data in %s of %zu bytes\n", ranks_.rank, point.operation.c_str(),
                   point.bytes);
      std::exit(1);
    };
    for (std::size_t i = 0; i < sets; ++i) call_and_check(i);
    const double one = duration(call, sets);
    const int calls = std::clamp(static_cast<int>(effort_ * 8000.0 / one), 2, 20000);
    // Fewer batches where a call takes so long that nothing else would be measured today.
    const int batch_count = std::clamp(static_cast<int>(2e6 / (one * calls)), 3, 15);
    std::vector<double> batches;
    for (int batch = 0; batch < batch_count; ++batch) {
      ranks_.barrier();
      const double begin = now();
      for (int i = 0; i < calls; ++i) call(static_cast<std::size_t>(i) % sets);
      batches.push_back(ranks_.maximum((now() - begin) / calls));
    }
    for (std::size_t i = 0; i < sets; ++i) call_and_check(i);
    std::sort(batches.begin(), batches.end());
    if (ranks_.rank == 0) {
      std::printf("%s %zu %.4f\n", point.operation.c_str(), point.bytes, batches[batches.size() / 2]);
      std::fflush(stdout);
    }
  }

  // Of one call, roughly; the same number on every rank.
  template <class Call>
  double duration(Call&& call, std::size_t sets) {
    double one = 0;
    for (const int calls : {2, 20}) {
      ranks_.barrier();
      const double begin = now();
      for (int i = 0; i < calls; ++i) call(static_cast<std::size_t>(i) % sets);
      one = ranks_.maximum((now() - begin) / calls);
      if (one > 1000.0) break;
    }
    return one;
  }

  Ranks& ranks_;
  Memory& memory_;
  double effort_;
};

/// Ordinary private memory.
class Vectors {
 public:
  std::span<double> allocate(std::size_t n) { return vectors_.emplace_back(n); }
  void release() { vectors_.clear(); }

 private:
  std::list<std::vector<double>> vectors_;
};

inline std::vector<Point> points() {
  std::vector<Point> all{{"barrier", 0}};
  for (const char* operation : {"allreduce", "broadcast", "allgatherv"}) {
    for (const std::size_t bytes : {8UL, 1024UL, 16384UL, 262144UL, 3276800UL, 33554432UL}) {
      const bool tiny_gather = std::string(operation) == "allgatherv" && bytes == 8;
      all.push_back({operation, tiny_gather ? 32 : bytes});
    }
  }
  return all;
}

/// The points that the command line asks for: `<effort> [operation [bytes]]`.
template <class Ranks>
int compare(Ranks& ranks, int argc, char** argv) {
  const double effort = argc > 1 ? std::atof(argv[1]) : 1.0;
  Vectors memory;
  Comparison<Ranks, Vectors> comparison(ranks, memory, effort);
  for (const Point& point : points()) {
    if (argc > 2 && point.operation != argv[2]) continue;
    if (argc > 3 && point.bytes != std::strtoull(argv[3], nullptr, 10)) continue;
    comparison.run(point);
  }
  return 0;
}

}  // namespace bench
