// expect: compare_and_swap works on integers
// compiles-with: -DFIXED
#include <ferrompi/window.hpp>

#ifdef FIXED
using Element = long;
#else
using Element = double;
#endif

bool take(const ferrompi::LockGuard<Element>& guard) {
  return guard.compare_and_swap(0, 1) == 0;
}
