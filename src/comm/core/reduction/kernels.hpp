// The compiled reductions, one table for each instruction set.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>
#include <cobre/comm/detail/fold.hpp>

namespace cobre::comm::core {

/// A null entry means that the operation does not exist for the type.
struct KernelTable {
  detail::Fold::Function kernels[reduce_op_count][element_type_count];
};

extern const KernelTable baseline_kernels;
#ifdef COBRE_COMM_KERNELS_AVX2
extern const KernelTable avx2_kernels;
#endif

}  // namespace cobre::comm::core
