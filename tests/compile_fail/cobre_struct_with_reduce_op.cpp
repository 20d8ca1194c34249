// expect: reduce any other type with a callable
#include <cobre/comm.hpp>

struct Cut {
  double intercept;
  double slope;
};

void misuse(const cobre::comm::LocalBackend& comm) {
  const Cut cut{1.0, 2.0};
#ifdef FIXED
  static_cast<void>(comm.allreduce(cut, [](Cut a, Cut b) { return a.intercept < b.intercept ? b : a; }));
#else
  static_cast<void>(comm.allreduce(cut, cobre::comm::ReduceOp::Max));
#endif
}
