// A loop over the threads of this rank.
#pragma once

#include <cstddef>
#include <functional>

namespace sddp {

/// Calls body(i) for each i below `count`, on so many threads, in any order. What body throws is thrown here, that of
/// the lowest i if there are several.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

}  // namespace sddp
