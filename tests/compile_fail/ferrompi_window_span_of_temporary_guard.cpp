// expect: deleted
// compiles-with: -DFIXED
#include <ferrompi/window.hpp>

void set(ferrompi::SharedWindow<double>& window) {
#ifdef FIXED
  auto guard = window.lock(ferrompi::LockType::Exclusive, 0);
  auto segment = guard.as_mut_span();
#else
  auto segment = window.lock(ferrompi::LockType::Exclusive, 0).as_mut_span();  // unlocked before it is written
#endif
  segment[0] = 1.0;
}
