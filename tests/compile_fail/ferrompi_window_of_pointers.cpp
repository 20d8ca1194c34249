// expect: a SharedWindow holds what ferrompi can send
// compiles-with: -DFIXED
#include <ferrompi/window.hpp>

#ifdef FIXED
using Element = double;
#else
using Element = double*;  // means nothing in another process
#endif

std::size_t elements(ferrompi::SharedWindow<Element>& window) {
  return window.local().size();
}
