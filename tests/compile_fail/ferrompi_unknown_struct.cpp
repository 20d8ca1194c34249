// expect: ferrompi does not know how to send this type
// compiles-with: -DFIXED
#include <ferrompi/communicator.hpp>

#include <string>
#include <vector>

using namespace ferrompi;

struct Point {
  double x;
  double y;
};

#ifdef FIXED
FERROMPI_DATATYPE(Point, x, y);
#else
// Nothing says how a Point travels.
#endif

void run(const Communicator& world, std::vector<Point>& points) {
  world.broadcast(points, 0);
}
