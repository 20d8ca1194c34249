#include "comm/backends/mpi/moving.hpp"

#include <ferrompi/communicator.hpp>

#include "comm/backends/mpi/state.hpp"

namespace cobre::comm::mpi {
namespace {

std::span<const std::size_t> scaled(std::span<const std::size_t> values, std::size_t scale,
                                    std::vector<std::size_t>& scratch) {
  if (scale == 1) return values;
  scratch.resize(values.size());  // allocates in the first call only
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
  // The buffer as far as the segments reach: that is what was checked.
  std::size_t reach = 0;
  for (std::size_t r = 0; r < call.counts.size(); ++r) {
    const std::size_t end = call.counts[r] == 0 ? 0 : call.displs[r] + call.counts[r];
    if (end > reach) reach = end;
  }
  with_moving_type(call.element_size, [&]<class T>(std::size_t scale) {
    const std::span<T> recv(static_cast<T*>(call.recv), reach * scale);
    const auto counts = scaled(call.counts, scale, state.scratch.counts);
    const auto displs = scaled(call.displs, scale, state.scratch.displs);
    if (call.in_place) {
      state.world.allgatherv_inplace(recv, counts, displs);
    } else {
      state.world.allgatherv(std::span<const T>(static_cast<const T*>(call.send), counts[rank]), recv, counts, displs);
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
