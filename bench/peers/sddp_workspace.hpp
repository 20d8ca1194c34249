// What the solver that this library was written for says in one training iteration: who sends what to whom, how often
// and how much, without the computation in between. The forward passes of all ranks give costs and states; going back
// through the stages, each exchanges states, the cuts that they give, and statistics of both.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace solver {

struct Shape {
  std::size_t stages = 60;
  std::size_t passes = 192;                  // of all ranks together
  std::size_t state = 2080;                  // numbers in a state, and coefficients in a cut
  std::size_t capacity = 50 * 192;           // cuts that a stage has room for
  std::size_t statistics = 48 * 10 * 15;     // numbers from each rank
  static constexpr std::size_t header = 25;  // bytes of a cut before its coefficients
};

/// States, cuts and what grows with them, `factor` times as large; as many collectives as before.
inline Shape scaled(double factor) {
  Shape shape;
  for (std::size_t* const length : {&shape.state, &shape.capacity, &shape.statistics}) {
    *length = std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(*length) * factor));
  }
  return shape;
}

inline std::size_t collectives(const Shape& shape) {
  return 5 * (shape.stages - 1) + 4;
}

/// What every rank contributes a part of and receives as a whole. Counts in both of the integers that callers use.
template <class T>
class Gathering {
 public:
  /// `part(r)` is the number of elements that rank r contributes.
  template <class Part>
  Gathering(std::size_t rank, std::size_t size, Part&& part) : rank_(rank) {
    std::size_t end = 0;
    for (std::size_t r = 0; r < size; ++r) {
      counts.push_back(part(r));
      displs.push_back(end);
      end += counts.back();
    }
    int_counts.assign(counts.begin(), counts.end());
    int_displs.assign(displs.begin(), displs.end());
    own.resize(counts[rank]);
    all.resize(end);
  }

  void fill(std::size_t seed) {
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = value(rank_, i, seed);
    std::fill(all.begin(), all.end(), T{});
  }
  [[nodiscard]] bool is_right(std::size_t seed) const {
    for (std::size_t r = 0; r < counts.size(); ++r) {
      for (std::size_t i = 0; i < counts[r]; ++i) {
        if (all[displs[r] + i] != value(r, i, seed)) return false;
      }
    }
    return true;
  }

  std::vector<T> own, all;
  std::vector<std::size_t> counts, displs;
  std::vector<int> int_counts, int_displs;

 private:
  static T value(std::size_t rank, std::size_t i, std::size_t seed) {
    return static_cast<T>((7 * i + 31 * rank + 13 * seed + 1) % 127);
  }
  std::size_t rank_;
};

/// What every rank contributes in full, and receives reduced.
template <class T>
struct Reduction {
  explicit Reduction(std::size_t length) : own(length), all(length) {}
  std::vector<T> own, all;
};

/// The buffers of one rank.
class Workspace {
 public:
  Workspace(const Shape& extents, std::size_t rank, std::size_t size)
      : shape(extents),
        costs(rank, size, [&](std::size_t r) { return passes_of(r, size); }),
        // Padded to the longest part, as the solver does.
        states(rank, size, [&](std::size_t) { return passes_of(0, size) * shape.state; }),
        cuts(rank, size, [&](std::size_t r) { return passes_of(r, size) * (Shape::header + 8 * shape.state); }),
        statistics(rank, size, [&](std::size_t) { return shape.statistics; }),
        binding(shape.capacity),
        active(shape.capacity),
        rank_(rank),
        size_(size) {}

  void fill(std::size_t seed) {
    costs.fill(seed);
    states.fill(seed + 1);
    cuts.fill(seed + 2);
    statistics.fill(seed + 3);
    for (std::size_t i = 0; i < shape.capacity; ++i) {
      binding.own[i] = seed + i + rank_;
      active.own[i] = 1U << ((i + seed + rank_) % 32);
    }
    workers = 4 + rank_;
    bound = rank_ == 0 ? static_cast<double>(seed) + 0.5 : 0.0;
  }

  [[nodiscard]] bool is_right(std::size_t seed) const {
    bool right = costs.is_right(seed) && states.is_right(seed + 1) && cuts.is_right(seed + 2) &&
                 statistics.is_right(seed + 3) && fewest == 4 && most == 3 + size_ &&
                 bound == static_cast<double>(seed) + 0.5;
    for (std::size_t i = 0; i < shape.capacity; ++i) {
      std::uint32_t bits = 0;
      for (std::size_t r = 0; r < std::min<std::size_t>(size_, 32); ++r) bits |= 1U << ((i + seed + r) % 32);
      right = right && binding.all[i] == size_ * (seed + i) + size_ * (size_ - 1) / 2 && active.all[i] == bits;
    }
    return right;
  }

  /// What all collectives of one iteration deliver to one rank.
  [[nodiscard]] std::size_t bytes() const {
    const auto size_of = [](const auto& numbers) { return numbers.size() * sizeof(numbers[0]); };
    const std::size_t each_stage =
        size_of(states.all) + size_of(cuts.all) + size_of(statistics.all) + size_of(binding.all) + size_of(active.all);
    return size_of(costs.all) + 2 * sizeof(workers) + (shape.stages - 1) * each_stage + sizeof(bound);
  }

  Shape shape;
  Gathering<double> costs;
  Gathering<double> states;
  Gathering<std::uint8_t> cuts;
  Gathering<double> statistics;
  Reduction<std::uint64_t> binding;  // how often each cut was binding
  Reduction<std::uint32_t> active;   // in which of the last iterations
  std::uint64_t workers = 0, fewest = 0, most = 0;
  double bound = 0;

 private:
  [[nodiscard]] std::size_t passes_of(std::size_t rank, std::size_t size) const {
    return shape.passes / size + (rank < shape.passes % size ? 1 : 0);
  }
  std::size_t rank_, size_;
};

}  // namespace solver
