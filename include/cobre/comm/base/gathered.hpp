// What a gather returns when it worked out the counts itself.
#pragma once

#include <cstddef>
#include <vector>

namespace cobre::comm {

/// The pieces of all ranks, in rank order: rank r's piece is `counts[r]` values from `displs[r]` on.
template <class T>
struct Gathered {
  std::vector<T> values;
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
};

}  // namespace cobre::comm
