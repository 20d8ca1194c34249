// Where a reduction multiplies and adds in one expression, a compiler may fuse the two, which gives other bits: see
// check_instructions.py.

#include "comm/core/reduction/combine.hpp"

using namespace cobre::comm::core;

extern "C" void multiply_complex(void* into, const void* a, const void* b, std::size_t count) {
  const auto* const left = static_cast<const Complex<double>*>(a);
  const auto* const right = static_cast<const Complex<double>*>(b);
  auto* const out = static_cast<Complex<double>*>(into);
  for (std::size_t i = 0; i < count; ++i) out[i] = Prod::combine(left[i], right[i]);
}
