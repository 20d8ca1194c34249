#include "comm/backends/mpi/canonical.hpp"

#include <cobre/comm/detail/blocks.hpp>
#include <ferrompi/communicator.hpp>

#include <algorithm>
#include <cstring>

#include "comm/backends/mpi/moving.hpp"
#include "comm/backends/mpi/state.hpp"

namespace cobre::comm::mpi {
namespace {

// Up to this many bytes in all, everyone gathers everything and folds it: one step instead of two.
constexpr std::size_t one_step_bytes = std::size_t{32} * 1024;
// Longer messages go in pieces, so that the scratch memory stays bounded.
constexpr std::size_t piece_bytes = std::size_t{8} * 1024 * 1024;

class Reduction {
 public:
  Reduction(const detail::MpiState& state, const detail::AllreduceCall& call)
      : state_(state),
        call_(call),
        size_(static_cast<std::size_t>(state.world.size())),
        rank_(static_cast<std::size_t>(state.world.rank())),
        fold_(call.fold()),
        scratch_(state.scratch) {}

  void run() {
    if (call_.count * call_.element_size * size_ <= one_step_bytes) return gather_and_fold();
    const std::size_t piece = std::max(piece_bytes / call_.element_size, size_);
    for (std::size_t start = 0; start < call_.count; start += piece) {
      fold_slices(start, std::min(piece, call_.count - start));
    }
  }

  void to_root(std::size_t root) {
    for_each_piece([&](std::size_t start, std::size_t count) {
      with_moving_type(call_.element_size, [&]<class T>(std::size_t scale) {
        state_.world.gather(sent<T>(start, count, scale), gathered<T>(), static_cast<int>(root));
      });
      if (rank_ == root) fold(result(start), count, count * call_.element_size, size_);
    });
  }

  /// Everyone gets everything and folds what counts for it.
  void of_the_first(std::size_t ranks) {
    for_each_piece([&](std::size_t start, std::size_t count) {
      with_moving_type(call_.element_size, [&]<class T>(std::size_t scale) {
        state_.world.allgather(sent<T>(start, count, scale), gathered<T>());
      });
      fold(result(start), count, count * call_.element_size, ranks);
    });
  }

  void of_own_block() {
    for_each_piece([&](std::size_t start, std::size_t count) {
      with_moving_type(call_.element_size, [&]<class T>(std::size_t scale) {
        scratch_.counts.assign(size_, count * scale);
        scratch_.displs.resize(size_);
        scratch_.part_displs.resize(size_);
        for (std::size_t r = 0; r < size_; ++r) {
          scratch_.displs[r] = (r * call_.count + start) * scale;
          scratch_.part_displs[r] = r * count * scale;
        }
        state_.world.alltoallv(sent<T>(0, call_.count * size_, scale), scratch_.counts, scratch_.displs, gathered<T>(),
                               scratch_.counts, scratch_.part_displs);
      });
      fold(result(start), count, count * call_.element_size, size_);
    });
  }

 private:
  void gather_and_fold() {
    const std::size_t bytes = call_.count * call_.element_size;
    scratch_.gathered.resize(bytes * size_);
    state_.world.allgather(std::span(static_cast<const std::byte*>(call_.send), bytes), scratch_.gathered);
    fold(static_cast<std::byte*>(call_.recv), call_.count, bytes, size_);
  }

  /// Pieces of which one from every rank fits into the scratch memory.
  template <class Visit>
  void for_each_piece(Visit&& visit) {
    const std::size_t piece = std::max<std::size_t>(piece_bytes / size_ / call_.element_size, 1);
    for (std::size_t start = 0; start < call_.count; start += piece) {
      const std::size_t count = std::min(piece, call_.count - start);
      scratch_.gathered.resize(count * call_.element_size * size_);
      visit(start, count);
    }
  }
  template <class T>
  [[nodiscard]] std::span<const T> sent(std::size_t start, std::size_t count, std::size_t scale) const {
    return {static_cast<const T*>(call_.send) + start * scale, count * scale};
  }
  template <class T>
  [[nodiscard]] std::span<T> gathered() const {
    return {reinterpret_cast<T*>(scratch_.gathered.data()), scratch_.gathered.size() / sizeof(T)};
  }
  [[nodiscard]] std::byte* result(std::size_t start) const {
    return static_cast<std::byte*>(call_.recv) + start * call_.element_size;
  }

  // Each rank folds one slice and hands it to all: every byte travels twice, however many ranks there are.
  void fold_slices(std::size_t start, std::size_t count) {
    const std::size_t width = call_.element_size;
    const auto mine = detail::block_of(count, rank_, size_);
    scratch_.gathered.resize(mine.count * width * size_);
    scratch_.reduced.resize(mine.count * width);
    with_moving_type(width, [&]<class T>(std::size_t scale) {
      lay_out(count, scale);
      scratch_.part_counts.assign(size_, mine.count * scale);
      scratch_.part_displs.resize(size_);
      for (std::size_t r = 0; r < size_; ++r) scratch_.part_displs[r] = r * mine.count * scale;
      const auto* const send = static_cast<const T*>(call_.send) + start * scale;
      auto* const recv = static_cast<T*>(call_.recv) + start * scale;
      auto* const parts = reinterpret_cast<T*>(scratch_.gathered.data());
      state_.world.alltoallv(std::span(send, count * scale), scratch_.counts, scratch_.displs,
                             std::span(parts, mine.count * size_ * scale), scratch_.part_counts, scratch_.part_displs);
      fold(scratch_.reduced.data(), mine.count, mine.count * width, size_);
      const auto* const result = reinterpret_cast<const T*>(scratch_.reduced.data());
      state_.world.allgatherv(std::span(result, mine.count * scale), std::span(recv, count * scale), scratch_.counts,
                              scratch_.displs);
    });
  }

  void lay_out(std::size_t count, std::size_t scale) {
    scratch_.counts.resize(size_);
    scratch_.displs.resize(size_);
    for (std::size_t r = 0; r < size_; ++r) {
      const auto block = detail::block_of(count, r, size_);
      scratch_.counts[r] = block.count * scale;
      scratch_.displs[r] = block.start * scale;
    }
  }

  // Of the first `ranks`.
  void fold(std::byte* into, std::size_t count, std::size_t stride, std::size_t ranks) {
    if (ranks == 0) return;
    scratch_.sources.resize(size_);
    for (std::size_t r = 0; r < size_; ++r) scratch_.sources[r] = scratch_.gathered.data() + r * stride;
    fold_.apply(into, scratch_.sources.data(), ranks, count);
  }

  const detail::MpiState& state_;
  const detail::AllreduceCall& call_;
  std::size_t size_;
  std::size_t rank_;
  detail::Fold fold_;
  detail::MpiScratch& scratch_;
};

}  // namespace

void canonical_allreduce(const detail::MpiState& state, const detail::AllreduceCall& call) {
  Reduction(state, call).run();
}

void canonical_reduce(const detail::MpiState& state, const detail::ReduceCall& call) {
  Reduction(state, call).to_root(call.root);
}

void canonical_scan(const detail::MpiState& state, const detail::ScanCall& call) {
  Reduction(state, call).of_the_first(call.sources(static_cast<std::size_t>(state.world.rank())));
}

void canonical_reduce_scatter(const detail::MpiState& state, const detail::ReduceScatterCall& call) {
  Reduction(state, call).of_own_block();
}

}  // namespace cobre::comm::mpi
