// expect: constraints not satisfied
#include <cobre/comm.hpp>

#include <cstddef>

// All of a communicator but the gathering.
struct Incomplete {
  std::size_t rank() const noexcept { return 0; }
  std::size_t size() const noexcept { return 1; }
  void barrier() const {}
  void abort(int) const {}
  template <class Buffer>
  void broadcast(Buffer&&, std::size_t) const {}
  template <class Send, class Recv, class Op>
  void allreduce(Send&&, Recv&&, Op) const {}
};

template <cobre::comm::Communicator C>
void solve(const C& comm) {
  comm.barrier();
}

void misuse() {
#ifdef FIXED
  solve(cobre::comm::LocalBackend());
#else
  solve(Incomplete());
#endif
}
