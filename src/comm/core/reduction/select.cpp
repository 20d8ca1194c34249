// Chooses the instruction set once, by what the processor has.

#include "comm/core/reduction/kernels.hpp"

namespace cobre::comm {
namespace {

const core::KernelTable& kernels() noexcept {
#ifdef COBRE_COMM_KERNELS_AVX2
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return core::avx2_kernels;
#endif
  return core::baseline_kernels;
}

}  // namespace

detail::Fold detail::predefined_fold(ReduceOp op, ElementType type) noexcept {
  return {kernels().kernels[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)], nullptr};
}

}  // namespace cobre::comm
