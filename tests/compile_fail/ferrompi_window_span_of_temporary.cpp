// expect: deleted
// compiles-with: -DFIXED
#include <ferrompi/window.hpp>

double first(const ferrompi::Communicator& node) {
#ifdef FIXED
  auto window = ferrompi::SharedWindow<double>::allocate(node, 8);
  auto segment = window.local();
#else
  auto segment = ferrompi::SharedWindow<double>::allocate(node, 8).local();
#endif
  return segment[0];
}
