// A file that reads shared memory: it includes the window, and nothing else.
#include <ferrompi/window.hpp>

double first_of(const ferrompi::SharedWindow<double>& window) {
  return window.remote(0)[0];
}
