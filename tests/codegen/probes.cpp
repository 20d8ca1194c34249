// Functions whose machine code is looked at: see check_no_calls.py.

#include <cobre/comm.hpp>

#include <new>

using namespace cobre::comm;

#ifdef PROBE_ANY_BACKEND
using Comm = CommBackend;  // in a build with one backend there is nothing to dispatch
#else
using Comm = LocalBackend;
#endif

extern "C" {

void probe_barrier(const Comm& comm) {
  comm.barrier();
}

void probe_broadcast_array(const Comm& comm, std::array<double, 4>& buffer) {
  comm.broadcast(buffer, 0);
}

int probe_broadcast_value(const Comm& comm, int value) {
  return comm.broadcast(value, 0);
}

void probe_allreduce_array(const Comm& comm, const std::array<double, 4>& send, std::array<double, 4>& recv) {
  comm.allreduce(send, recv, ReduceOp::Sum);
}

void probe_allreduce_span(const Comm& comm, std::span<const float, 8> send, std::span<float, 8> recv) {
  comm.allreduce(send, recv, ReduceOp::Max, Reproducible::Yes);
}

double probe_allreduce_value(const Comm& comm, double value) {
  return comm.allreduce(value, ReduceOp::Sum);
}

double probe_allreduce_lambda(const Comm& comm, double value, double weight) {
  return comm.allreduce(value, [weight](double a, double b) { return a + weight * b; });
}

void probe_allreduce_inplace(const Comm& comm, std::array<long, 3>& buffer) {
  comm.allreduce_inplace(buffer, ReduceOp::BitwiseOr);
}

std::size_t probe_rank_and_size(const Comm& comm) {
  return comm.rank() + comm.size();
}

#ifdef PROBE_ANY_BACKEND
double probe_visit(const Comm& comm, double value) {
  return comm.visit([value](const auto& backend) { return backend.allreduce(value, ReduceOp::Sum); });
}

// Left where it was made: to end a communicator ends the operations that it has under way.
double probe_communicator_that_was_made(void* place, double value) {
  const auto& comm = *new (place) Comm(create_communicator(BackendKind::Local));
  return comm.allreduce(value, ReduceOp::Sum);
}
#else
double probe_communicator_of_its_own(double value) {
  const Comm comm;
  return comm.allreduce(value, ReduceOp::Sum);
}
#endif

#ifdef PROBE_CONTROL
// What the check must find, or it would find nothing anywhere.
void control_calls_out(const Comm& comm, std::vector<double>& buffer) {
  const auto gathered = comm.allgatherv(buffer);
  buffer.assign(gathered.values.begin(), gathered.values.end());
}

void control_jumps_through_a_pointer(void (*next)()) {
  next();
}
#endif

}  // extern "C"
