#include "comm/backends/mpi/moving.hpp"

#include <ferrompi/communicator.hpp>

#include <algorithm>
#include <climits>

#include "comm/backends/mpi/state.hpp"
#include "comm/backends/mpi/turns.hpp"

namespace cobre::comm::mpi {
namespace {

/// The segments of a call in what MPI moves.
struct Placement {
  std::size_t reach = 0;  // the end of the last segment: that much of the buffer was checked
  bool fits_int = false;  // in sum, and wherever this rank wants them
};

// One pass for all: every rank counts here, in every call. Written to `counts` and `displs`, cut to an int; what is cut
// is not used.
Placement place(const detail::AllgathervCall& call, std::size_t scale, int* counts, int* displs) {
  Placement placement;
  std::size_t total = 0;
  std::size_t furthest = 0;
  for (std::size_t r = 0; r < call.counts.size(); ++r) {
    const std::size_t count = call.counts[r] * scale;
    const std::size_t displ = count == 0 ? 0 : call.displs[r] * scale;  // nothing may lie anywhere
    counts[r] = static_cast<int>(count);
    displs[r] = static_cast<int>(displ);
    total += count;
    furthest = std::max(furthest, displ);
    placement.reach = std::max(placement.reach, displ + count);
  }
  placement.fits_int = total <= INT_MAX && furthest <= INT_MAX;
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

}  // namespace

void gather_segments(const detail::MpiState& state, const detail::AllgathervCall& call) {
  const auto rank = static_cast<std::size_t>(state.world.rank());
  auto& scratch = state.scratch;
  scratch.int_counts.resize(call.counts.size());  // allocates in the first call only
  scratch.int_displs.resize(call.counts.size());
  with_moving_type(call.element_size, [&]<class T>(std::size_t scale) {
    const auto [reach, fits_int] = place(call, scale, scratch.int_counts.data(), scratch.int_displs.data());
    const std::span<const T> send(static_cast<const T*>(call.send), call.counts[rank] * scale);
    const std::span<T> recv(static_cast<T*>(call.recv), reach);
    const auto gather = [&](const auto& counts, const auto& displs) {
      if (in_turns()) {
        wait_in_turns(call.in_place ? state.world.iallgatherv_inplace(recv, counts, displs)
                                    : state.world.iallgatherv(send, recv, counts, displs));
      } else if (call.in_place) {
        state.world.allgatherv_inplace(recv, counts, displs);
      } else {
        state.world.allgatherv(send, recv, counts, displs);
      }
    };
    if (fits_int) [[likely]] {
      gather(scratch.int_counts, scratch.int_displs);
    } else {
      gather(scaled(call.counts, scale, scratch.counts), scaled(call.displs, scale, scratch.displs));
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
