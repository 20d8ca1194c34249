// expect: a SharedWindow holds what ferrompi can send
// compiles-with: -DFIXED
#include <ferrompi/window.hpp>

struct Reservoir {
  double volume;
  int id;
};

#ifdef FIXED
FERROMPI_DATATYPE(Reservoir, volume, id);
#endif

std::size_t elements(ferrompi::SharedWindow<Reservoir>& window) {
  return window.local().size();
}
