// expect: a ReduceOp works on numbers
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

struct Point {
  double x;
  double y;
};
FERROMPI_DATATYPE(Point, x, y);

Point run(const Communicator& world, const Point& point) {
#ifdef FIXED
  return world.allreduce(point, [](const Point& a, const Point& b) { return Point{a.x + b.x, a.y + b.y}; });
#else
  return world.allreduce(point, ReduceOp::Sum);
#endif
}
