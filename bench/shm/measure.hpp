// The loops of the comparison, the same for us and for every peer: batches of calls, rotated buffers, the slowest rank
// of each batch, the median of the batches; data checked in between.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
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
/// and maximum(value); numbers are doubles.
template <class Ranks>
class Comparison {
 public:
  Comparison(Ranks& ranks, double effort) : ranks_(ranks), effort_(effort) {}

  void run(const Point& point) {
    const std::size_t count = point.bytes / sizeof(double);
    const std::size_t each = std::max<std::size_t>(1, count / static_cast<std::size_t>(ranks_.size));
    const std::size_t sets =
        std::clamp<std::size_t>((std::size_t{96} << 20) / std::max<std::size_t>(point.bytes, 1), 2, 8);
    send_.assign(sets, {});
    recv_.assign(sets, {});
    for (std::size_t i = 0; i < sets; ++i) {
      send_[i].assign(std::max<std::size_t>(count, 1), 1.0 + static_cast<double>(ranks_.rank));
      recv_[i].assign(std::max<std::size_t>(each * static_cast<std::size_t>(ranks_.size), 1), 0.0);
    }
    if (point.operation == "barrier") {
      measure(
          point, [&](std::size_t) { ranks_.barrier(); }, [](std::size_t) { return true; });
    } else if (point.operation == "allreduce") {
      const double sum = ranks_.size * (ranks_.size + 1) / 2.0;
      measure(
          point, [&](std::size_t i) { ranks_.allreduce(send_[i].data(), recv_[i].data(), count); },
          [&](std::size_t i) { return all_of(recv_[i], 0, count, sum); });
    } else if (point.operation == "broadcast") {
      measure(
          point, [&](std::size_t i) { ranks_.broadcast(send_[i].data(), count); },
          [&](std::size_t i) { return all_of(send_[i], 0, count, 1.0); });
    } else {
      measure(
          point, [&](std::size_t i) { ranks_.allgatherv(send_[i].data(), recv_[i].data(), each); },
          [&](std::size_t i) {
            for (int r = 0; r < ranks_.size; ++r) {
              if (!all_of(recv_[i], each * static_cast<std::size_t>(r), each, 1.0 + r)) return false;
            }
            return true;
          });
    }
  }

 private:
  static bool all_of(const std::vector<double>& values, std::size_t from, std::size_t n, double expected) {
    return std::all_of(values.begin() + static_cast<std::ptrdiff_t>(from),
                       values.begin() + static_cast<std::ptrdiff_t>(from + n), [&](double v) { return v == expected; });
  }

  template <class Call, class Check>
  void measure(const Point& point, Call&& call, Check&& check) {
    const std::size_t sets = send_.size();
    for (std::size_t i = 0; i < sets; ++i) {
      call(i);
      if (!check(i)) {
        std::fprintf(stderr, "rank %d: wrong data in %s of %zu bytes\n", ranks_.rank, point.operation.c_str(),
                     point.bytes);
        std::exit(1);
      }
    }
    const int calls = iterations(call, sets);
    std::vector<double> batches;
    for (int batch = 0; batch < 15; ++batch) {
      ranks_.barrier();
      const double begin = now();
      for (int i = 0; i < calls; ++i) call(static_cast<std::size_t>(i) % sets);
      batches.push_back(ranks_.maximum((now() - begin) / calls));
    }
    std::sort(batches.begin(), batches.end());
    if (ranks_.rank == 0) {
      std::printf("%s %zu %.4f\n", point.operation.c_str(), point.bytes, batches[batches.size() / 2]);
      std::fflush(stdout);
    }
  }

  // As many as take a few milliseconds, the same number on every rank.
  template <class Call>
  int iterations(Call&& call, std::size_t sets) {
    for (int i = 0; i < 3; ++i) call(static_cast<std::size_t>(i) % sets);
    ranks_.barrier();
    const double begin = now();
    int done = 0;
    for (; done < 20; ++done) call(static_cast<std::size_t>(done) % sets);
    const double one = ranks_.maximum((now() - begin) / done);
    return std::clamp(static_cast<int>(effort_ * 8000.0 / one), 2, 20000);
  }

  Ranks& ranks_;
  double effort_;
  std::vector<std::vector<double>> send_;
  std::vector<std::vector<double>> recv_;
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
  Comparison<Ranks> comparison(ranks, effort);
  for (const Point& point : points()) {
    if (argc > 2 && point.operation != argv[2]) continue;
    if (argc > 3 && point.bytes != std::strtoull(argv[3], nullptr, 10)) continue;
    comparison.run(point);
  }
  return 0;
}

}  // namespace bench
