// What Eigen's blocks look like from outside: elements of a larger matrix, which need not lie one behind the other.
#pragma once

#include <cstddef>

namespace test {

template <class T>
struct StridedBlockOf {
  T* data() { return storage; }
  const T* data() const { return storage; }
  std::size_t size() const { return static_cast<std::size_t>(inner_size) * static_cast<std::size_t>(outer_size); }
  int innerStride() const { return inner; }
  int outerStride() const { return outer; }
  int innerSize() const { return inner_size; }
  int outerSize() const { return outer_size; }

  T storage[8] = {};
  int inner = 1;
  int outer = 2;
  int inner_size = 2;
  int outer_size = 2;
};

using StridedBlock = StridedBlockOf<double>;

}  // namespace test
