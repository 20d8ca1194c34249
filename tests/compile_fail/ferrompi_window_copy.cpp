// expect: deleted
// compiles-with: -DFIXED
#include <ferrompi/window.hpp>

#include <utility>

ferrompi::SharedWindow<double> hand_over(ferrompi::SharedWindow<double>& window) {
#ifdef FIXED
  return std::move(window);
#else
  return window;
#endif
}
