#include "comm/backends/mpi/moving.hpp"

#include <ferrompi/communicator.hpp>

#include <algorithm>
#include <climits>
#include <cstring>

#include "comm/backends/mpi/state.hpp"
#include "comm/backends/mpi/turns.hpp"

namespace cobre::comm::mpi {
namespace {

/// The segments of a call in what MPI moves.
struct Placement {
  std::size_t reach = 0;  // the end of the last segment: that much of the buffer was checked
  std::size_t total = 0;  // the same on every rank, unlike where they are wanted
  bool fits_int = false;  // in sum, and wherever this rank wants them
};

// One pass for all: every rank counts here, in every call. Written to `counts` and `displs`, cut to an int; what is cut
// is not used.
Placement place(const detail::AllgathervCall& call, std::size_t scale, int* counts, int* displs) {
  Placement placement;
  std::size_t furthest = 0;
  for (std::size_t r = 0; r < call.counts.size(); ++r) {
    const std::size_t count = call.counts[r] * scale;
    const std::size_t displ = count == 0 ? 0 : call.displs[r] * scale;  // nothing may lie anywhere
    counts[r] = static_cast<int>(count);
    displs[r] = static_cast<int>(displ);
    placement.total += count;
    furthest = std::max(furthest, displ);
    placement.reach = std::max(placement.reach, displ + count);
  }
  placement.fits_int = placement.total <= INT_MAX && furthest <= INT_MAX;
  return placement;
}

std::span<const std::size_t> scaled(std::span<const std::size_t> values, std::size_t scale,
                                    std::vector<std::size_t>& scratch) {
  if (scale == 1) return values;
  scratch.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) scratch[i] = values[i] * scale;
  return scratch;
}

template <class T, class V>
std::span<T> typed(V* data, std::size_t count, std::size_t scale) {
  return {static_cast<T*>(data), count * scale};
}

/// Where the segments are few enough for an int, but this rank wants some of them further apart: one behind the other
/// into memory of ours, and from there to their places. Others may want theirs close together: they make the same call
/// of MPI, and need not know.
template <class T, class Gather>
[[gnu::cold, gnu::noinline]] void gather_aside(detail::MpiScratch& scratch, const detail::AllgathervCall& call,
                                               std::size_t rank, std::size_t total, const Gather& gather) {
  const std::size_t ranks = call.counts.size();
  scratch.gathered.resize(total * sizeof(T));
  for (std::size_t r = 0, end = 0; r < ranks; ++r) {
    scratch.int_displs[r] = static_cast<int>(end);
    end += call.bytes_of(r) / sizeof(T);
  }
  const auto segment = [&](std::size_t r) {
    return scratch.gathered.data() + static_cast<std::size_t>(scratch.int_displs[r]) * sizeof(T);
  };
  if (call.in_place && call.counts[rank] > 0) std::memcpy(segment(rank), call.place_of(rank), call.bytes_of(rank));
  gather(std::span<T>(reinterpret_cast<T*>(scratch.gathered.data()), total));
  for (std::size_t r = 0; r < ranks; ++r) {
    if (call.counts[r] > 0) std::memcpy(call.place_of(r), segment(r), call.bytes_of(r));
  }
}

}  // namespace

void gather_segments(const detail::MpiState& state, const detail::AllgathervCall& call) {
  const auto rank = static_cast<std::size_t>(state.world.rank());
  auto& scratch = state.scratch;
  scratch.int_counts.resize(call.counts.size());  // allocates in the first call only
  scratch.int_displs.resize(call.counts.size());
  with_moving_type(call.element_size, [&]<class T>(std::size_t scale) {
    const auto [reach, total, fits_int] = place(call, scale, scratch.int_counts.data(), scratch.int_displs.data());
    const std::span<const T> send(static_cast<const T*>(call.send), call.counts[rank] * scale);
    const auto gather = [&](std::span<T> recv, const auto& counts, const auto& displs) {
      if (in_turns()) {
        wait_in_turns(call.in_place ? state.world.iallgatherv_inplace(recv, counts, displs)
                                    : state.world.iallgatherv(send, recv, counts, displs));
      } else if (call.in_place) {
        state.world.allgatherv_inplace(recv, counts, displs);
      } else {
        state.world.allgatherv(send, recv, counts, displs);
      }
    };
    const auto gather_ints = [&](std::span<T> recv) { gather(recv, scratch.int_counts, scratch.int_displs); };
    const std::span<T> recv(static_cast<T*>(call.recv), reach);
    if (fits_int) [[likely]] {
      gather_ints(recv);
    } else if (total <= INT_MAX) {
      gather_aside<T>(scratch, call, rank, total, gather_ints);
    } else {
      gather(recv, scaled(call.counts, scale, scratch.counts), scaled(call.displs, scale, scratch.displs));
    }
  });
}

// Off the root there is no layout: ferrompi looks at none there either.
void gather(const detail::MpiState& state, const detail::GatherCall& call) {
  const auto ranks = static_cast<std::size_t>(state.world.size());
  const int root = static_cast<int>(call.root);
  with_moving_type(call.element_size, [&]<class T>(std::size_t scale) {
    const auto send = typed<const T>(call.send, call.count, scale);
    const auto recv = typed<T>(call.recv, call.recv == nullptr ? 0 : call.parts.reach(ranks), scale);
    if (call.parts.uniform()) return state.world.gather(send, recv, root);
    state.world.gatherv(send, recv, scaled(call.parts.counts(), scale, state.scratch.counts),
                        scaled(call.parts.displs(), scale, state.scratch.displs), root);
  });
}

void scatter(const detail::MpiState& state, const detail::ScatterCall& call) {
  const auto ranks = static_cast<std::size_t>(state.world.size());
  const int root = static_cast<int>(call.root);
  with_moving_type(call.element_size, [&]<class T>(std::size_t scale) {
    const auto send = typed<const T>(call.send, call.send == nullptr ? 0 : call.parts.reach(ranks), scale);
    const auto recv = typed<T>(call.recv, call.count, scale);
    if (call.parts.uniform()) return state.world.scatter(send, recv, root);
    state.world.scatterv(send, scaled(call.parts.counts(), scale, state.scratch.counts),
                         scaled(call.parts.displs(), scale, state.scratch.displs), recv, root);
  });
}

void alltoall(const detail::MpiState& state, const detail::AlltoallCall& call) {
  const auto ranks = static_cast<std::size_t>(state.world.size());
  with_moving_type(call.element_size, [&]<class T>(std::size_t scale) {
    const auto send = typed<const T>(call.send, call.from.reach(ranks), scale);
    const auto recv = typed<T>(call.recv, call.to.reach(ranks), scale);
    if (call.from.uniform()) return state.world.alltoall(send, recv);
    state.world.alltoallv(send, scaled(call.from.counts(), scale, state.scratch.counts),
                          scaled(call.from.displs(), scale, state.scratch.displs), recv,
                          scaled(call.to.counts(), scale, state.scratch.part_counts),
                          scaled(call.to.displs(), scale, state.scratch.part_displs));
  });
}

}  // namespace cobre::comm::mpi
