// A loop over the threads of this rank.
#pragma once

#include <cstddef>
#include <exception>

namespace sddp {

/// Calls body(i) for each i below `count`, on so many threads, in any order. What body throws is thrown here, that of
/// the lowest i if there are several: an exception must not leave an OpenMP region.
template <class Body>
void parallel_for(std::size_t count, int threads, const Body& body) {
  std::exception_ptr error;
  std::size_t failed = count;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::size_t i = 0; i < count; ++i) {
    try {
      body(i);
    } catch (...) {
#pragma omp critical(sddp_parallel_for)
      if (i < failed) {
        failed = i;
        error = std::current_exception();
      }
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace sddp
