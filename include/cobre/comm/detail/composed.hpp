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
#include <optional>
#include <span>
#include <tuple>
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
  /// is resized, and what it held is gone. Where a rank has no room, every rank throws AllocationFailed; of at most
  /// 16 KiB that rank alone does, and the others have theirs.
  template <class Container>
  void broadcast_resized(Container& container, std::size_t root) const {
    require_contiguous<Container>();
    static_assert(ResizableBuffer<Container>,
                  "broadcast_resized: the other ranks must be able to resize the container: use broadcast for one "
                  "that has the same length everywhere");
    using T = element_t<Container>;
    const Where where = here("broadcast_resized");
    (void)checked_input(where, container);
    check_root(where, root);
    std::uint64_t length = size_of(container);
    self().conduct(resized_record<T>(root, 0), BroadcastCall{&length, sizeof length, root, sizeof length});
    const bool has_room = where.rank == root || can_resize(container, static_cast<std::size_t>(length));
    if (length > taken_without_room / sizeof(T)) {
      require_room<T>(where, root, length, has_room);
    } else if (!has_room) {
      take_without_room<T>(where, root, length);
    }
    const auto elements = checked_output(where, container);
    self().conduct(resized_record<T>(root, elements.size()),
                   BroadcastCall{elements.data(), elements.size_bytes(), root, sizeof(T)});
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
  // Up to so many bytes a rank without room receives all the same, on its stack, and is alone in failing. Beyond that
  // the ranks agree first, which costs little beside what is sent.
  static constexpr std::size_t taken_without_room = std::size_t{16} << 10;

  // Of all that a broadcast_resized exchanges. The length is no part of what the ranks agree on beforehand.
  template <class T>
  [[nodiscard]] static OperationRecord resized_record(std::size_t root, std::size_t count) noexcept {
    return {.operation = Operation::BroadcastResized,
            .type = element_type_v<T>,
            .element_size = sizeof(T),
            .count = count,
            .root = root};
  }

  template <class Container>
  [[nodiscard]] static bool can_resize(Container& container, std::size_t length) {
    try {
      container.resize(length);
      return true;
    } catch (const std::exception&) {  // bad_alloc, or length_error
      return false;
    }
  }

  // Nobody goes on to the elements where somebody cannot: the others would wait for a rank that has left.
  template <class T>
  void require_room(Where where, std::size_t root, std::uint64_t length, bool has_room) const {
    std::uint64_t lacking = has_room ? where.size : where.rank;
    self().conduct(resized_record<T>(root, 1), AllreduceCall{.send = &lacking,
                                                             .recv = &lacking,
                                                             .count = 1,
                                                             .element_size = sizeof lacking,
                                                             .type = element_type_v<std::uint64_t>,
                                                             .op = ReduceOp::Min});
    if (lacking < where.size) [[unlikely]]
      throw_no_room(where, length, sizeof(T), static_cast<std::size_t>(lacking));
  }

  template <class T>
  [[noreturn, gnu::cold, gnu::noinline]] void take_without_room(Where where, std::size_t root,
                                                                std::uint64_t length) const {
    alignas(std::max_align_t) std::array<std::byte, taken_without_room> unwanted;
    self().conduct(resized_record<T>(root, length),
                   BroadcastCall{unwanted.data(), length * sizeof(T), root, sizeof(T)});
    throw_no_room(where, length, sizeof(T), where.rank);
  }

  // What one rank shows first: numbers that add up to its sum, as there nearly always are, and 0, or 1 where that takes
  // more of them. So those of all ranks are numbers that add up to the result. They fit into the smallest messages of
  // every backend: a sum of one value a rank is one small exchange.
  using Summary = std::array<double, 4>;
  static constexpr std::size_t most_parts = 3;
  static constexpr std::size_t most_summaries = 64;

  // Of all that a reproducible_sum exchanges: how many elements a rank has is its own affair.
  template <class T>
  static constexpr OperationRecord sum_record{
      .operation = Operation::ReproducibleSum, .type = element_type_v<T>, .element_size = sizeof(T)};

  template <class T>
  [[nodiscard]] T sum_over_ranks(std::span<const T> values) const {
    Summary mine{};
    if (values.size() <= most_parts) {
      // A few numbers do without an accumulator: clearing one takes a good part of what the exchange does.
      for (std::size_t i = 0; i < values.size(); ++i) mine[i] = values[i];
      if (const auto sum = sum_of_summaries<T>(mine)) return *sum;
      return sum_of_accumulators<T>(accumulated(values));
    }
    const ExactSum own = accumulated(values);
    if (!own.take_apart(std::span(mine).first(most_parts))) mine.back() = 1.0;
    if (const auto sum = sum_of_summaries<T>(mine)) return *sum;
    return sum_of_accumulators<T>(own);
  }

  template <class T>
  [[nodiscard]] static ExactSum accumulated(std::span<const T> values) noexcept {
    ExactSum sum;
    sum.add(values);
    return sum;
  }

  // Nothing where they are too many, or that of a rank is not complete: on all ranks the same.
  template <class T>
  [[nodiscard]] std::optional<T> sum_of_summaries(const Summary& mine) const {
    const std::size_t size = self().size();
    if (size > most_summaries) return std::nullopt;
    std::array<double, most_summaries * std::tuple_size_v<Summary>> all;
    std::array<std::size_t, most_summaries> counts;
    std::array<std::size_t, most_summaries> displs;
    for (std::size_t rank = 0; rank < size; ++rank) counts[rank] = 1, displs[rank] = rank;
    const auto parts = std::span(all).first(size * mine.size());
    const auto own = parts.subspan(self().rank() * mine.size(), mine.size());
    std::ranges::copy(mine, own.begin());
    self().conduct(sum_record<T>, AllgathervCall{own.data(), all.data(), std::span(counts).first(size),
                                                 std::span(displs).first(size), sizeof(Summary), true});
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (parts[rank * mine.size() + most_parts] != 0.0) return std::nullopt;
    }
    if (const auto sum = sum_of_few<T>(parts)) return sum;
    return accumulated(std::span<const double>(parts)).template to<T>();
  }

  template <class T>
  [[nodiscard]] T sum_of_accumulators(const ExactSum& own) const {
    auto total = own.portable();
    using Word = typename decltype(total.words)::value_type;
    self().conduct(sum_record<T>, AllreduceCall{.send = total.words.data(),
                                                .recv = total.words.data(),
                                                .count = total.words.size(),
                                                .element_size = sizeof(Word),
                                                .type = element_type_v<Word>,
                                                .op = ReduceOp::Sum});
    return ExactSum::from(total).template to<T>();
  }
};

}  // namespace cobre::comm::detail
