// Moving elements of any type: MPI only has to know how long they are.
#pragma once

#include <cobre/comm/detail/collectives.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>

namespace cobre::comm::detail {
struct MpiState;
}

namespace cobre::comm::mpi {

/// Calls `f.template operator()<T>(scale)`: an element of `element_size` bytes moves as `scale` elements of T. Counts
/// of the usual sizes stay what they are; others become bytes.
template <class F>
void with_moving_type(std::size_t element_size, F&& f) {
  switch (element_size) {
    case 1: return f.template operator()<std::uint8_t>(std::size_t{1});
    case 2: return f.template operator()<std::uint16_t>(std::size_t{1});
    case 4: return f.template operator()<std::uint32_t>(std::size_t{1});
    case 8: return f.template operator()<std::uint64_t>(std::size_t{1});
    case 16: return f.template operator()<std::complex<double>>(std::size_t{1});
    default: return f.template operator()<std::byte>(element_size);
  }
}

void gather_segments(const detail::MpiState& state, const detail::AllgathervCall& call);
void gather(const detail::MpiState& state, const detail::GatherCall& call);
void scatter(const detail::MpiState& state, const detail::ScatterCall& call);
void alltoall(const detail::MpiState& state, const detail::AlltoallCall& call);

}  // namespace cobre::comm::mpi
