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

}  // namespace cobre::comm::mpi
