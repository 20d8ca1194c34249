// expect: the operation reads this buffer until a flush, unlock or fence
// compiles-with: -DFIXED
#include <ferrompi/window.hpp>

#include <vector>

void send(ferrompi::SharedWindow<double>& window) {
#ifdef FIXED
  const std::vector<double> values(4, 1.0);
  window.target(0).put(values);
#else
  window.target(0).put(std::vector<double>(4, 1.0));
#endif
  window.fence();
}
