// expect: the elements of this buffer must be those of the window
// compiles-with: -DFIXED
#include <ferrompi/window.hpp>

#include <vector>

void send(ferrompi::SharedWindow<double>& window) {
#ifdef FIXED
  const std::vector<double> values(4);
#else
  const std::vector<float> values(4);
#endif
  window.target(0).put(values);
  window.fence();
}
