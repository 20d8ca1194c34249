// Operations that are made of the four collectives, and so are the same on every backend.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <cobre/comm/base/gathered.hpp>
#include <cobre/comm/detail/arguments.hpp>
#include <cobre/comm/detail/exact_sum.hpp>
#include <cobre/comm/detail/moving.hpp>
#include <cobre/comm/detail/preconditions.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <numeric>
#include <span>
#include <vector>

namespace cobre::comm::detail {

template <class B>
concept ResizableBuffer = Contiguous<B> && requires(B& buffer, std::size_t count) {
  buffer.resize(count);
};

template <class Backend>
class ComposedOperations : public MovingOperations<Backend> {
 protected:
  using OperationBase<Backend>::self;
  using OperationBase<Backend>::here;

 public:
  /// Collective. Every rank's range, joined in the order of the ranks, where no rank knows the other lengths: works
  /// them out with one more exchange.
  template <BufferLike Send>
  [[nodiscard]] auto allgatherv(Send&& send) const {
    const auto in = checked_input(here("allgatherv"), send);
    using T = std::remove_const_t<typename decltype(in)::element_type>;
    Gathered<T> result;
    const std::size_t size = self().size();
    const std::vector<std::size_t> ones(size, 1);
    result.displs.resize(size);
    std::iota(result.displs.begin(), result.displs.end(), std::size_t{0});
    result.counts.resize(size);
    self().allgatherv(std::span<const std::size_t, 1>(std::array{in.size()}), result.counts, ones, result.displs);
    std::exclusive_scan(result.counts.begin(), result.counts.end(), result.displs.begin(), std::size_t{0});
    result.values.resize(result.displs.back() + result.counts.back());
    self().allgatherv(in, result.values, result.counts, result.displs);
    return result;
  }

  /// Collective. As broadcast, for a std::string or std::vector whose length only the root knows: on the other ranks it
  /// is resized, and what it held is gone.
  template <class Container>
  void broadcast_resized(Container& container, std::size_t root) const {
    require_contiguous<Container>();
    static_assert(ResizableBuffer<Container>,
                  "broadcast_resized: the other ranks must be able to resize the container: use broadcast for one "
                  "that has the same length everywhere");
    const std::uint64_t length = self().broadcast(static_cast<std::uint64_t>(size_of(container)), root);
    try {
      container.resize(static_cast<std::size_t>(length));
    } catch (const std::exception&) {  // bad_alloc, or length_error
      throw_no_room(here("broadcast_resized"), length, sizeof(element_t<Container>));
    }
    self().broadcast(container, root);
  }

  /// Collective. Whether all ranks say yes.
  [[nodiscard]] bool agree(bool yes) const { return self().allreduce(yes, ReduceOp::LogicalAnd); }

  /// Collective. The sum of an array that is spread over the ranks, as if added without rounding and rounded once at
  /// the end: the same bits however it is spread, over however many ranks, on every backend. `float` or `double`.
  template <BufferLike Local>
  [[nodiscard]] auto reproducible_sum(Local&& local) const {
    const auto values = checked_input(here("reproducible_sum"), local);
    using T = std::remove_const_t<typename decltype(values)::element_type>;
    static_assert(std::same_as<T, double> || std::same_as<T, float>, "reproducible_sum adds float or double");
    return sum_over_ranks(values);
  }
  /// Collective. The same for one value of each rank.
  template <std::floating_point T>
  [[nodiscard]] T reproducible_sum(T local) const {
    return reproducible_sum(std::span<const T, 1>(&local, 1));
  }

 private:
  // What one rank shows first: numbers that add up to its sum, as there nearly always are. They fit into the smallest
  // messages of every backend, so a sum of one value a rank is one small exchange.
  struct Summary {
    std::array<double, 3> parts{};
    double complete = 1.0;
  };
  static constexpr std::size_t most_summaries = 64;

  template <class T>
  [[nodiscard]] T sum_over_ranks(std::span<const T> values) const {
    const std::size_t size = self().size();
    ExactSum own;
    Summary summary;
    const bool few = values.size() <= summary.parts.size();
    if (few) {
      std::ranges::copy(values, summary.parts.begin());
    } else {
      own.add(values);
      summary.complete = own.take_apart(summary.parts) ? 1.0 : 0.0;
    }
    if (size <= most_summaries) {
      std::array<Summary, most_summaries> all;
      std::array<std::size_t, most_summaries> counts;
      std::array<std::size_t, most_summaries> displs;
      for (std::size_t rank = 0; rank < size; ++rank) counts[rank] = 1, displs[rank] = rank;
      const auto summaries = std::span(all).first(size);
      self().allgatherv(std::span<const Summary, 1>(&summary, 1), summaries, std::span(counts).first(size),
                        std::span(displs).first(size));
      if (std::ranges::all_of(summaries, [](const Summary& one) { return one.complete != 0.0; })) {
        return sum_of_summaries<T>(summaries);
      }
    }
    if (few) own.add(values);
    auto total = own.portable();
    self().allreduce_inplace(std::span(total.words), ReduceOp::Sum);
    return ExactSum::from(total).template to<T>();
  }

  template <class T>
  [[nodiscard]] static T sum_of_summaries(std::span<const Summary> summaries) noexcept {
    std::array<double, 3 * most_summaries> parts;
    std::size_t count = 0;
    for (const Summary& summary : summaries) {
      for (const double part : summary.parts) {
        if (part != 0.0) parts[count++] = part;
      }
    }
    const auto all = std::span<const double>(parts).first(count);
    if constexpr (std::same_as<T, double>) {
      if (const auto sum = sum_of_few(all)) return *sum;
    }
    ExactSum total;
    total.add(all);
    return total.template to<T>();
  }
};

}  // namespace cobre::comm::detail
