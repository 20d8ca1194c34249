#include "parallel.hpp"

#include <exception>

namespace sddp {

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  // An exception must not leave an OpenMP region: it waits here.
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
