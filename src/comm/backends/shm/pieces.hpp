// Long data in pieces, of which each rank makes its own and takes those of the others.
#pragma once

#include <cstddef>

namespace cobre::comm::shm {

/// Takes one piece behind what it makes, so that nobody waits for a peer that is merely half a piece slower.
template <class Make, class Take>
void one_piece_behind(std::size_t pieces, Make&& make, Take&& take) {
  for (std::size_t index = 0; index < pieces; ++index) {
    make(index);
    if (index > 0) take(index - 1);
  }
  if (pieces > 0) take(pieces - 1);
}

}  // namespace cobre::comm::shm
