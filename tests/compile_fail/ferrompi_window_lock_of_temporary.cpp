// expect: deleted
// compiles-with: -DFIXED
#include <ferrompi/window.hpp>

void hold(const ferrompi::Communicator& node) {
#ifdef FIXED
  auto window = ferrompi::SharedWindow<double>::allocate(node, 8);
  auto guard = window.lock(ferrompi::LockType::Exclusive, 0);
#else
  auto guard = ferrompi::SharedWindow<double>::allocate(node, 8).lock(ferrompi::LockType::Exclusive, 0);
#endif
  guard.flush();
}
