// Every blocking operation twice: as a plain call of MPI whose return code is looked at, and through ferrompi. Compiled
// once with the argument checks and once without; run under the tracer.
//
// Both sides are given the same and do the same: a small object with communicator, rank and size, and buffers that know
// their length. So plain C divides a buffer by the number of ranks where the operation does, and has a way for lengths
// beyond an int where they are known only at run time: the alternative is to cut them silently.
#include "probe.hpp"

#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>

#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

using ferrompi::Communicator;
using ferrompi::ReduceOp;

constexpr std::size_t n = 8;

// Visible outside of this file, so that the compiler cannot know what they hold.
std::array<double, n> first, second;
std::span<double> first_span = first;
std::span<double> second_span = second;
double value = 1.0;
double result = 0.0;
int source = 0;

namespace {

constexpr std::size_t blocks = n * probe::ranks;

std::array<double, blocks> many, others;
std::array<int, probe::ranks> counts = {8, 8, 8, 8};
std::array<int, probe::ranks> displs = {0, 8, 16, 24};

/// What a careful C program keeps.
struct Plain {
  MPI_Comm comm;
  int rank;
  int size;
};

[[noreturn, gnu::cold, gnu::noinline]] void fail(int code) {
  std::fprintf(stderr, "MPI error %d\n", code);
  std::abort();
}

inline void checked(int code) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    fail(code);
  }
}

inline bool fits(std::size_t length) {
  return length <= INT_MAX;
}

// How plain C moves more than an int counts. Never called here, but the compiler cannot know.
#if MPI_VERSION >= 4
[[gnu::cold, gnu::noinline]] int large_broadcast(double* buffer, std::size_t length, int root, MPI_Comm comm) {
  return MPI_Bcast_c(buffer, static_cast<MPI_Count>(length), MPI_DOUBLE, root, comm);
}
[[gnu::cold, gnu::noinline]] int large_allreduce(const double* send, double* recv, std::size_t length, MPI_Op op,
                                                 MPI_Comm comm) {
  return MPI_Allreduce_c(send, recv, static_cast<MPI_Count>(length), MPI_DOUBLE, op, comm);
}
[[gnu::cold, gnu::noinline]] int large_send(const double* buffer, std::size_t length, int to, int tag, MPI_Comm comm) {
  return MPI_Send_c(buffer, static_cast<MPI_Count>(length), MPI_DOUBLE, to, tag, comm);
}
#else
constexpr std::size_t piece = INT_MAX;
[[gnu::cold, gnu::noinline]] int large_broadcast(double* buffer, std::size_t length, int root, MPI_Comm comm) {
  for (; length > piece; length -= piece, buffer += piece) checked(MPI_Bcast(buffer, INT_MAX, MPI_DOUBLE, root, comm));
  return MPI_Bcast(buffer, static_cast<int>(length), MPI_DOUBLE, root, comm);
}
[[gnu::cold, gnu::noinline]] int large_allreduce(const double* send, double* recv, std::size_t length, MPI_Op op,
                                                 MPI_Comm comm) {
  for (; length > piece; length -= piece, send += piece, recv += piece) {
    checked(MPI_Allreduce(send, recv, INT_MAX, MPI_DOUBLE, op, comm));
  }
  return MPI_Allreduce(send, recv, static_cast<int>(length), MPI_DOUBLE, op, comm);
}
[[gnu::cold, gnu::noinline]] int large_send(const double* buffer, std::size_t length, int to, int tag, MPI_Comm comm) {
  for (; length > piece; length -= piece, buffer += piece)
    checked(MPI_Send(buffer, INT_MAX, MPI_DOUBLE, to, tag, comm));
  return MPI_Send(buffer, static_cast<int>(length), MPI_DOUBLE, to, tag, comm);
}
#endif

constexpr int len = static_cast<int>(n);

// What each rank gets of a buffer for all of them.
inline int part_of(const Plain& c) {
  return static_cast<int>(blocks / static_cast<std::size_t>(c.size));
}

struct Operation {
  const char* name;
  void (*plain)(const Plain&);
  void (*ours)(const Communicator&);
  probe::Kind kind = probe::Kind::Fixed;
};

const Operation operations[] = {
    {"barrier", [](const Plain& c) { checked(MPI_Barrier(c.comm)); }, [](const Communicator& c) { c.barrier(); }},
    {"broadcast", [](const Plain& c) { checked(MPI_Bcast(first.data(), len, MPI_DOUBLE, 1, c.comm)); },
     [](const Communicator& c) { c.broadcast(first, 1); }},
    {"reduce",
     [](const Plain& c) { checked(MPI_Reduce(first.data(), second.data(), len, MPI_DOUBLE, MPI_SUM, 1, c.comm)); },
     [](const Communicator& c) { c.reduce(first, second, ReduceOp::Sum, 1); }},
    {"allreduce",
     [](const Plain& c) { checked(MPI_Allreduce(first.data(), second.data(), len, MPI_DOUBLE, MPI_SUM, c.comm)); },
     [](const Communicator& c) { c.allreduce(first, second, ReduceOp::Sum); }},
    {"allreduce_inplace",
     [](const Plain& c) { checked(MPI_Allreduce(MPI_IN_PLACE, first.data(), len, MPI_DOUBLE, MPI_SUM, c.comm)); },
     [](const Communicator& c) { c.allreduce_inplace(first, ReduceOp::Sum); }},
    {"reduce_inplace",
     [](const Plain& c) {
       const void* send = c.rank == 0 ? MPI_IN_PLACE : first.data();
       checked(MPI_Reduce(send, first.data(), len, MPI_DOUBLE, MPI_SUM, 0, c.comm));
     },
     [](const Communicator& c) { c.reduce_inplace(first, ReduceOp::Sum, 0); }},
    {"scan_inplace",
     [](const Plain& c) { checked(MPI_Scan(MPI_IN_PLACE, first.data(), len, MPI_DOUBLE, MPI_SUM, c.comm)); },
     [](const Communicator& c) { c.scan_inplace(first, ReduceOp::Sum); }},
    {"exscan_inplace",
     [](const Plain& c) { checked(MPI_Exscan(MPI_IN_PLACE, first.data(), len, MPI_DOUBLE, MPI_SUM, c.comm)); },
     [](const Communicator& c) { c.exscan_inplace(first, ReduceOp::Sum); }},
    {"allgather_inplace",
     [](const Plain& c) {
       checked(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DOUBLE, many.data(), part_of(c), MPI_DOUBLE, c.comm));
     },
     [](const Communicator& c) { c.allgather_inplace(many); }},
    {"alltoall_inplace",
     [](const Plain& c) {
       checked(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, many.data(), part_of(c), MPI_DOUBLE, c.comm));
     },
     [](const Communicator& c) { c.alltoall_inplace(many); }},
    {"scan", [](const Plain& c) { checked(MPI_Scan(first.data(), second.data(), len, MPI_DOUBLE, MPI_SUM, c.comm)); },
     [](const Communicator& c) { c.scan(first, second, ReduceOp::Sum); }},
    {"exscan",
     [](const Plain& c) { checked(MPI_Exscan(first.data(), second.data(), len, MPI_DOUBLE, MPI_SUM, c.comm)); },
     [](const Communicator& c) { c.exscan(first, second, ReduceOp::Sum); }},
    {"reduce_scatter_block",
     [](const Plain& c) {
       checked(MPI_Reduce_scatter_block(many.data(), first.data(), len, MPI_DOUBLE, MPI_SUM, c.comm));
     },
     [](const Communicator& c) { c.reduce_scatter_block(many, first, ReduceOp::Sum); }},
    {"gather",
     [](const Plain& c) {
       checked(MPI_Gather(first.data(), len, MPI_DOUBLE, many.data(), len, MPI_DOUBLE, 1, c.comm));
     },
     [](const Communicator& c) { c.gather(first, many, 1); }},
    {"allgather",
     [](const Plain& c) {
       checked(MPI_Allgather(first.data(), len, MPI_DOUBLE, many.data(), len, MPI_DOUBLE, c.comm));
     },
     [](const Communicator& c) { c.allgather(first, many); }},
    {"scatter",
     [](const Plain& c) {
       checked(MPI_Scatter(many.data(), len, MPI_DOUBLE, first.data(), len, MPI_DOUBLE, 1, c.comm));
     },
     [](const Communicator& c) { c.scatter(many, first, 1); }},
    {"alltoall",
     [](const Plain& c) {
       const int part = part_of(c);
       checked(MPI_Alltoall(many.data(), part, MPI_DOUBLE, others.data(), part, MPI_DOUBLE, c.comm));
     },
     [](const Communicator& c) { c.alltoall(many, others); }},
    {"send", [](const Plain& c) { checked(MPI_Send(first.data(), len, MPI_DOUBLE, 1, 7, c.comm)); },
     [](const Communicator& c) { c.send(first, 1, 7); }},
    {"ssend", [](const Plain& c) { checked(MPI_Ssend(first.data(), len, MPI_DOUBLE, 1, 7, c.comm)); },
     [](const Communicator& c) { c.ssend(first, 1, 7); }},
    {"recv",
     [](const Plain& c) {
       MPI_Status status;
       checked(MPI_Recv(first.data(), len, MPI_DOUBLE, 1, 7, c.comm, &status));
       source = status.MPI_SOURCE;
     },
     [](const Communicator& c) { source = c.recv(first, 1, 7).source(); }},
    {"sendrecv",
     [](const Plain& c) {
       MPI_Status status;
       checked(
           MPI_Sendrecv(first.data(), len, MPI_DOUBLE, 1, 7, second.data(), len, MPI_DOUBLE, 1, 7, c.comm, &status));
       source = status.MPI_SOURCE;
     },
     [](const Communicator& c) { source = c.sendrecv(first, 1, 7, second, 1, 7).source(); }},
    {"sendrecv_replace",
     [](const Plain& c) {
       MPI_Status status;
       checked(MPI_Sendrecv_replace(first.data(), len, MPI_DOUBLE, 1, 7, 1, 7, c.comm, &status));
       source = status.MPI_SOURCE;
     },
     [](const Communicator& c) { source = c.sendrecv_replace(first, 1, 7, 1, 7).source(); }},
    {"probe",
     [](const Plain& c) {
       MPI_Status status;
       checked(MPI_Probe(1, 7, c.comm, &status));
       source = status.MPI_SOURCE;
     },
     [](const Communicator& c) { source = c.probe<double>(1, 7).source(); }},

    {"iprobe",
     [](const Plain& c) {
       MPI_Status status;
       int found = 0;
       checked(MPI_Iprobe(1, 7, c.comm, &found, &status));
       source = found != 0 ? status.MPI_SOURCE : -1;
     },
     [](const Communicator& c) {
       const auto status = c.iprobe<double>(1, 7);
       source = status ? status->source() : -1;
     }},
    {"mprobe and recv",
     [](const Plain& c) {
       MPI_Message message;
       MPI_Status status;
       checked(MPI_Mprobe(1, 7, c.comm, &message, &status));
       checked(MPI_Mrecv(first.data(), len, MPI_DOUBLE, &message, &status));
       source = status.MPI_SOURCE;
     },
     [](const Communicator& c) { source = c.mprobe(1, 7).recv(first).source(); }},
    {"gather_inplace",
     [](const Plain& c) {
       if (c.rank == 0) {
         checked(MPI_Gather(MPI_IN_PLACE, 0, MPI_DOUBLE, many.data(), part_of(c), MPI_DOUBLE, 0, c.comm));
       } else {
         checked(MPI_Gather(many.data(), static_cast<int>(blocks), MPI_DOUBLE, nullptr, 0, MPI_DOUBLE, 0, c.comm));
       }
     },
     [](const Communicator& c) { c.gather_inplace(many, 0); }},
    {"scatter_inplace",
     [](const Plain& c) {
       if (c.rank == 0) {
         checked(MPI_Scatter(many.data(), part_of(c), MPI_DOUBLE, MPI_IN_PLACE, 0, MPI_DOUBLE, 0, c.comm));
       } else {
         checked(MPI_Scatter(nullptr, 0, MPI_DOUBLE, many.data(), static_cast<int>(blocks), MPI_DOUBLE, 0, c.comm));
       }
     },
     [](const Communicator& c) { c.scatter_inplace(many, 0); }},
    {"reduce_scatter_block_inplace",
     [](const Plain& c) {
       checked(MPI_Reduce_scatter_block(MPI_IN_PLACE, many.data(), part_of(c), MPI_DOUBLE, MPI_SUM, c.comm));
     },
     [](const Communicator& c) { c.reduce_scatter_block_inplace(many, ReduceOp::Sum); }},

    {"allreduce of a value",
     [](const Plain& c) {
       double sum;
       checked(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, c.comm));
       result = sum;
     },
     [](const Communicator& c) { result = c.allreduce(value, ReduceOp::Sum); }},
    {"reduce of a value",
     [](const Plain& c) {
       double sum = value;
       checked(MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 1, c.comm));
       result = sum;
     },
     [](const Communicator& c) { result = c.reduce(value, ReduceOp::Sum, 1); }},
    {"scan of a value",
     [](const Plain& c) {
       double sum;
       checked(MPI_Scan(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, c.comm));
       result = sum;
     },
     [](const Communicator& c) { result = c.scan(value, ReduceOp::Sum); }},
    {"exscan of a value",
     [](const Plain& c) {
       double sum = 0;
       checked(MPI_Exscan(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, c.comm));
       result = sum;
     },
     [](const Communicator& c) { result = c.exscan(value, ReduceOp::Sum); }},
    {"send of a value", [](const Plain& c) { checked(MPI_Send(&value, 1, MPI_DOUBLE, 1, 7, c.comm)); },
     [](const Communicator& c) { c.send(value, 1, 7); }},
    {"recv of a value",
     [](const Plain& c) {
       double copy = 0;
       MPI_Status status;
       checked(MPI_Recv(&copy, 1, MPI_DOUBLE, 1, 7, c.comm, &status));
       result = copy;
     },
     [](const Communicator& c) { result = c.recv<double>(1, 7); }},
    {"sendrecv of a value",
     [](const Plain& c) {
       double copy = 0;
       MPI_Status status;
       checked(MPI_Sendrecv(&value, 1, MPI_DOUBLE, 1, 7, &copy, 1, MPI_DOUBLE, 1, 7, c.comm, &status));
       result = copy;
     },
     [](const Communicator& c) { result = c.sendrecv(value, 1, 7, 1, 7); }},
    {"broadcast of a value",
     [](const Plain& c) {
       double copy = value;
       checked(MPI_Bcast(&copy, 1, MPI_DOUBLE, 1, c.comm));
       result = copy;
     },
     [](const Communicator& c) { result = c.broadcast(value, 1); }},

    {"broadcast, run-time length",
     [](const Plain& c) {
       const auto [data, length] = std::pair(first_span.data(), first_span.size());
       checked(fits(length) ? MPI_Bcast(data, static_cast<int>(length), MPI_DOUBLE, 1, c.comm)
                            : large_broadcast(data, length, 1, c.comm));
     },
     [](const Communicator& c) { c.broadcast(first_span, 1); }, probe::Kind::RunTime},
    {"allreduce, run-time length",
     [](const Plain& c) {
       const auto [send, recv, length] = std::tuple(first_span.data(), second_span.data(), first_span.size());
       checked(fits(length) ? MPI_Allreduce(send, recv, static_cast<int>(length), MPI_DOUBLE, MPI_SUM, c.comm)
                            : large_allreduce(send, recv, length, MPI_SUM, c.comm));
     },
     [](const Communicator& c) { c.allreduce(first_span, second_span, ReduceOp::Sum); }, probe::Kind::RunTime},
    {"send, run-time length",
     [](const Plain& c) {
       const auto [data, length] = std::pair(first_span.data(), first_span.size());
       checked(fits(length) ? MPI_Send(data, static_cast<int>(length), MPI_DOUBLE, 1, 7, c.comm)
                            : large_send(data, length, 1, 7, c.comm));
     },
     [](const Communicator& c) { c.send(first_span, 1, 7); }, probe::Kind::RunTime},

    {"reduce_scatter",
     [](const Plain& c) {
       checked(MPI_Reduce_scatter(many.data(), first.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c.comm));
     },
     [](const Communicator& c) { c.reduce_scatter(many, first, counts, ReduceOp::Sum); }, probe::Kind::Counts},
    {"reduce_scatter_inplace",
     [](const Plain& c) {
       checked(MPI_Reduce_scatter(MPI_IN_PLACE, many.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c.comm));
     },
     [](const Communicator& c) { c.reduce_scatter_inplace(many, counts, ReduceOp::Sum); }, probe::Kind::Counts},
    {"gatherv_inplace",
     [](const Plain& c) {
       if (c.rank == 0) {
         checked(MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, many.data(), counts.data(), displs.data(), MPI_DOUBLE, 0,
                             c.comm));
       } else {
         checked(MPI_Gatherv(many.data(), static_cast<int>(blocks), MPI_DOUBLE, many.data(), counts.data(),
                             displs.data(), MPI_DOUBLE, 0, c.comm));
       }
     },
     [](const Communicator& c) { c.gatherv_inplace(many, counts, displs, 0); }, probe::Kind::Counts},
    {"scatterv_inplace",
     [](const Plain& c) {
       if (c.rank == 0) {
         checked(MPI_Scatterv(many.data(), counts.data(), displs.data(), MPI_DOUBLE, MPI_IN_PLACE, 0, MPI_DOUBLE, 0,
                              c.comm));
       } else {
         checked(MPI_Scatterv(many.data(), counts.data(), displs.data(), MPI_DOUBLE, many.data(),
                              static_cast<int>(blocks), MPI_DOUBLE, 0, c.comm));
       }
     },
     [](const Communicator& c) { c.scatterv_inplace(many, counts, displs, 0); }, probe::Kind::Counts},
    {"allgatherv_inplace",
     [](const Plain& c) {
       checked(
           MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, many.data(), counts.data(), displs.data(), MPI_DOUBLE, c.comm));
     },
     [](const Communicator& c) { c.allgatherv_inplace(many, counts, displs); }, probe::Kind::Counts},
    {"alltoallv_inplace",
     [](const Plain& c) {
       checked(MPI_Alltoallv(MPI_IN_PLACE, counts.data(), displs.data(), MPI_DOUBLE, many.data(), counts.data(),
                             displs.data(), MPI_DOUBLE, c.comm));
     },
     [](const Communicator& c) { c.alltoallv_inplace(many, counts, displs); }, probe::Kind::Counts},
    {"gatherv",
     [](const Plain& c) {
       checked(MPI_Gatherv(first.data(), len, MPI_DOUBLE, many.data(), counts.data(), displs.data(), MPI_DOUBLE, 0,
                           c.comm));
     },
     [](const Communicator& c) { c.gatherv(first, many, counts, displs, 0); }, probe::Kind::Counts},
    {"scatterv",
     [](const Plain& c) {
       checked(MPI_Scatterv(many.data(), counts.data(), displs.data(), MPI_DOUBLE, first.data(), len, MPI_DOUBLE, 0,
                            c.comm));
     },
     [](const Communicator& c) { c.scatterv(many, counts, displs, first, 0); }, probe::Kind::Counts},
    {"allgatherv",
     [](const Plain& c) {
       checked(MPI_Allgatherv(first.data(), len, MPI_DOUBLE, many.data(), counts.data(), displs.data(), MPI_DOUBLE,
                              c.comm));
     },
     [](const Communicator& c) { c.allgatherv(first, many, counts, displs); }, probe::Kind::Counts},
    {"alltoallv",
     [](const Plain& c) {
       checked(MPI_Alltoallv(many.data(), counts.data(), displs.data(), MPI_DOUBLE, others.data(), counts.data(),
                             displs.data(), MPI_DOUBLE, c.comm));
     },
     [](const Communicator& c) { c.alltoallv(many, counts, displs, others, counts, displs); }, probe::Kind::Counts},
};

// The tracer counts from the signal to here.
[[gnu::noinline]] void end_of_region() {
  __asm__ volatile("");
}

template <class Context>
[[gnu::noinline]] void region(void (*function)(const Context&), const Context& context) {
  raise(SIGSTOP);
  function(context);
  end_of_region();
}

void write(const probe::Record& record) {
  if (::write(STDOUT_FILENO, &record, sizeof record) != sizeof record) std::abort();
}

template <class Context>
void measure(const char* name, const char* side, probe::Kind kind, void (*function)(const Context&),
             const Context& context) {
  probe::Record record{};
  std::strncpy(record.operation, name, sizeof record.operation - 1);
  std::strncpy(record.side, side, sizeof record.side - 1);
  record.kind = kind;
  for (int i = 0; i < 3; ++i) function(context);  // first calls may set something up once
  const auto allocations = probe::allocations;
  const auto calls = probe::mpi_calls;
  function(context);
  record.allocations = probe::allocations - allocations;
  record.mpi_calls = probe::mpi_calls - calls;
  region(function, context);
  write(record);
}

}  // namespace

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const Plain plain{world.native(), world.rank(), world.size()};

  probe::Record header{};
  header.end_address = reinterpret_cast<std::uint64_t>(&end_of_region);
  write(header);
  measure<Plain>(
      "", "none", probe::Kind::Fixed, [](const Plain&) {}, plain);
  for (const auto& operation : operations) {
    measure(operation.name, "plain", operation.kind, operation.plain, plain);
    measure(operation.name, "ours", operation.kind, operation.ours, world);
  }
  std::_Exit(EXIT_SUCCESS);
}
