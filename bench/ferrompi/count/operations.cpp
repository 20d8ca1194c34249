// Every blocking operation twice: as a plain call of MPI whose return code is looked at, and through ferrompi. Compiled
// once with the argument checks and once without; run under the tracer.
//
// Both sides are given the same and do the same: a small object with communicator, rank and size, and buffers that know
// their length. So plain C divides a buffer by the number of ranks where the operation does, and has a way for lengths
// beyond an int where they are known only at run time: the alternative is to cut them silently.
#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>

#include "plain.hpp"
#include "regions.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

using ferrompi::Communicator;
using ferrompi::ReduceOp;

constexpr std::size_t n = 8;

// Visible outside of this file, so that the compiler cannot know what they hold.
std::array<double, n> first, second;
std::span<double> first_span = first;
std::span<double> second_span = second;
std::array<double, n * probe::ranks> many, others;
std::span<double> many_span = many;
std::span<double> others_span = others;
double value = 1.0;
double result = 0.0;
int source = 0;

namespace {

constexpr std::size_t blocks = n * probe::ranks;

std::array<int, probe::ranks> counts = {8, 8, 8, 8};
std::array<int, probe::ranks> displs = {0, 8, 16, 24};

constexpr int len = static_cast<int>(n);

// What plain C must know of its library to be right, as ferrompi does.
[[gnu::cold, gnu::noinline]] int allgatherv_alone(const void* send, int count, MPI_Comm comm) {
  static constexpr int front = 0;
  return MPI_Allgatherv(send, count, MPI_DOUBLE, many.data() + displs[0], counts.data(), &front, MPI_DOUBLE, comm);
}
inline int allgatherv(const void* send, int count, const Plain& c) {
  if (ferrompi::detail::ignores_a_single_displacement && c.size == 1) [[unlikely]] {
    return allgatherv_alone(send, count, c.comm);
  }
  return MPI_Allgatherv(send, count, MPI_DOUBLE, many.data(), counts.data(), displs.data(), MPI_DOUBLE, c.comm);
}
[[gnu::cold, gnu::noinline]] int reduce_scatter_aside(const Plain& c) {
  std::vector<double> part(static_cast<std::size_t>(counts[static_cast<std::size_t>(c.rank)]));
  const int code = MPI_Reduce_scatter(many.data(), part.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c.comm);
  std::copy(part.begin(), part.end(), many.begin());
  return code;
}
inline int reduce_scatter_inplace(const Plain& c) {
  if (ferrompi::detail::scatters_in_place_wrongly) {
    std::int64_t before = 0;
    for (const int count : counts) {
      if (before > 0 && before < count) [[unlikely]] {
        return reduce_scatter_aside(c);
      }
      before += count;
    }
  }
  return MPI_Reduce_scatter(MPI_IN_PLACE, many.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c.comm);
}

// What each rank gets of a buffer whose length is known only now.
inline std::size_t share_of(std::span<const double> all, const Plain& c) {
  return all.size() / static_cast<std::size_t>(c.size);
}

// What each rank gets of a buffer for all of them.
inline int part_of(const Plain& c) {
  return static_cast<int>(blocks / static_cast<std::size_t>(c.size));
}

inline int alltoall(const double* send, double* recv, std::size_t length, const Plain& c) {
  const MPI_Comm comm = c.comm;
  if (blocks_fit(length, c)) [[likely]] {
    return MPI_Alltoall(send, as_int(length), MPI_DOUBLE, recv, as_int(length), MPI_DOUBLE, comm);
  }
#if MPI_VERSION >= 4
  const auto count = static_cast<MPI_Count>(length);
  return MPI_Alltoall_c(send, count, MPI_DOUBLE, recv, count, MPI_DOUBLE, comm);
#else
  return as_one_element(length, [=](MPI_Datatype all) { return MPI_Alltoall(send, 1, all, recv, 1, all, comm); });
#endif
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

    // This is rank 0: at the root there is more to look at.
    {"broadcast, at the root", [](const Plain& c) { checked(MPI_Bcast(first.data(), len, MPI_DOUBLE, 0, c.comm)); },
     [](const Communicator& c) { c.broadcast(first, 0); }},
    {"reduce, at the root",
     [](const Plain& c) { checked(MPI_Reduce(first.data(), second.data(), len, MPI_DOUBLE, MPI_SUM, 0, c.comm)); },
     [](const Communicator& c) { c.reduce(first, second, ReduceOp::Sum, 0); }},
    {"gather, at the root",
     [](const Plain& c) {
       checked(MPI_Gather(first.data(), len, MPI_DOUBLE, many.data(), len, MPI_DOUBLE, 0, c.comm));
     },
     [](const Communicator& c) { c.gather(first, many, 0); }},
    {"scatter, at the root",
     [](const Plain& c) {
       checked(MPI_Scatter(many.data(), len, MPI_DOUBLE, first.data(), len, MPI_DOUBLE, 0, c.comm));
     },
     [](const Communicator& c) { c.scatter(many, first, 0); }},
    {"broadcast of a value, at the root",
     [](const Plain& c) {
       double copy = value;
       checked(MPI_Bcast(&copy, 1, MPI_DOUBLE, 0, c.comm));
       result = copy;
     },
     [](const Communicator& c) { result = c.broadcast(value, 0); }},
    {"reduce of a value, at the root",
     [](const Plain& c) {
       double sum = value;
       checked(MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, c.comm));
       result = sum;
     },
     [](const Communicator& c) { result = c.reduce(value, ReduceOp::Sum, 0); }},

    {"broadcast, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, first_span.data(), first_span.size());
       checked(fits(length)
                   ? MPI_Bcast(data, static_cast<int>(length), MPI_DOUBLE, 1, c.comm)
                   : as_one_element(length, [=](MPI_Datatype all) { return MPI_Bcast(data, 1, all, 1, comm); }));
     },
     [](const Communicator& c) { c.broadcast(first_span, 1); }, probe::Kind::RunTime},
    {"allreduce, run-time length",
     [](const Plain& c) {
       const auto [comm, send, recv, length] =
           std::tuple(c.comm, first_span.data(), second_span.data(), first_span.size());
       checked(fits(length) ? MPI_Allreduce(send, recv, static_cast<int>(length), MPI_DOUBLE, MPI_SUM, c.comm)
                            : by_pieces(length, [=](std::size_t from, int count) {
                                return MPI_Allreduce(send + from, recv + from, count, MPI_DOUBLE, MPI_SUM, comm);
                              }));
     },
     [](const Communicator& c) { c.allreduce(first_span, second_span, ReduceOp::Sum); }, probe::Kind::RunTime},
    {"send, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, first_span.data(), first_span.size());
       checked(fits(length)
                   ? MPI_Send(data, static_cast<int>(length), MPI_DOUBLE, 1, 7, c.comm)
                   : as_one_element(length, [=](MPI_Datatype all) { return MPI_Send(data, 1, all, 1, 7, comm); }));
     },
     [](const Communicator& c) { c.send(first_span, 1, 7); }, probe::Kind::RunTime},
    {"reduce, run-time length",
     [](const Plain& c) {
       const auto [comm, send, recv, length] =
           std::tuple(c.comm, first_span.data(), second_span.data(), first_span.size());
       checked(fits(length) ? MPI_Reduce(send, recv, as_int(length), MPI_DOUBLE, MPI_SUM, 1, c.comm)
                            : by_pieces(length, [=](std::size_t from, int count) {
                                return MPI_Reduce(send + from, recv + from, count, MPI_DOUBLE, MPI_SUM, 1, comm);
                              }));
     },
     [](const Communicator& c) { c.reduce(first_span, second_span, ReduceOp::Sum, 1); }, probe::Kind::RunTime},
    {"scan, run-time length",
     [](const Plain& c) {
       const auto [comm, send, recv, length] =
           std::tuple(c.comm, first_span.data(), second_span.data(), first_span.size());
       checked(fits(length) ? MPI_Scan(send, recv, as_int(length), MPI_DOUBLE, MPI_SUM, c.comm)
                            : by_pieces(length, [=](std::size_t from, int count) {
                                return MPI_Scan(send + from, recv + from, count, MPI_DOUBLE, MPI_SUM, comm);
                              }));
     },
     [](const Communicator& c) { c.scan(first_span, second_span, ReduceOp::Sum); }, probe::Kind::RunTime},
    {"exscan, run-time length",
     [](const Plain& c) {
       const auto [comm, send, recv, length] =
           std::tuple(c.comm, first_span.data(), second_span.data(), first_span.size());
       checked(fits(length) ? MPI_Exscan(send, recv, as_int(length), MPI_DOUBLE, MPI_SUM, c.comm)
                            : by_pieces(length, [=](std::size_t from, int count) {
                                return MPI_Exscan(send + from, recv + from, count, MPI_DOUBLE, MPI_SUM, comm);
                              }));
     },
     [](const Communicator& c) { c.exscan(first_span, second_span, ReduceOp::Sum); }, probe::Kind::RunTime},
    {"allreduce_inplace, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, first_span.data(), first_span.size());
       checked(fits(length) ? MPI_Allreduce(MPI_IN_PLACE, data, as_int(length), MPI_DOUBLE, MPI_SUM, c.comm)
                            : by_pieces(length, [=](std::size_t from, int count) {
                                return MPI_Allreduce(MPI_IN_PLACE, data + from, count, MPI_DOUBLE, MPI_SUM, comm);
                              }));
     },
     [](const Communicator& c) { c.allreduce_inplace(first_span, ReduceOp::Sum); }, probe::Kind::RunTime},
    {"gather, run-time length",
     [](const Plain& c) {
       const auto [comm, send, recv, length] =
           std::tuple(c.comm, first_span.data(), many_span.data(), first_span.size());
       checked(blocks_fit(length, c)
                   ? MPI_Gather(send, as_int(length), MPI_DOUBLE, recv, as_int(length), MPI_DOUBLE, 0, c.comm)
                   : as_one_element(length,
                                    [=](MPI_Datatype all) { return MPI_Gather(send, 1, all, recv, 1, all, 0, comm); }));
     },
     [](const Communicator& c) { c.gather(first_span, many_span, 0); }, probe::Kind::RunTime},
    {"allgather, run-time length",
     [](const Plain& c) {
       const auto [comm, send, recv, length] =
           std::tuple(c.comm, first_span.data(), many_span.data(), first_span.size());
       checked(blocks_fit(length, c)
                   ? MPI_Allgather(send, as_int(length), MPI_DOUBLE, recv, as_int(length), MPI_DOUBLE, c.comm)
                   : as_one_element(length,
                                    [=](MPI_Datatype all) { return MPI_Allgather(send, 1, all, recv, 1, all, comm); }));
     },
     [](const Communicator& c) { c.allgather(first_span, many_span); }, probe::Kind::RunTime},
    {"scatter, run-time length",
     [](const Plain& c) {
       const auto [comm, send, recv, length] =
           std::tuple(c.comm, many_span.data(), first_span.data(), first_span.size());
       checked(blocks_fit(length, c)
                   ? MPI_Scatter(send, as_int(length), MPI_DOUBLE, recv, as_int(length), MPI_DOUBLE, 0, c.comm)
                   : as_one_element(
                         length, [=](MPI_Datatype all) { return MPI_Scatter(send, 1, all, recv, 1, all, 0, comm); }));
     },
     [](const Communicator& c) { c.scatter(many_span, first_span, 0); }, probe::Kind::RunTime},
    {"reduce_scatter_block, run-time length",
     [](const Plain& c) {
       const auto [comm, send, recv, length] =
           std::tuple(c.comm, many_span.data(), first_span.data(), first_span.size());
       checked(blocks_fit(length, c) ? MPI_Reduce_scatter_block(send, recv, as_int(length), MPI_DOUBLE, MPI_SUM, c.comm)
                                     : large_reduce_scatter_block(send, recv, length, c));
     },
     [](const Communicator& c) { c.reduce_scatter_block(many_span, first_span, ReduceOp::Sum); }, probe::Kind::RunTime},
    {"alltoall, run-time length",
     [](const Plain& c) { checked(alltoall(many_span.data(), others_span.data(), share_of(many_span, c), c)); },
     [](const Communicator& c) { c.alltoall(many_span, others_span); }, probe::Kind::RunTime},
    {"allgather_inplace, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, many_span.data(), share_of(many_span, c));
       checked(blocks_fit(length, c)
                   ? MPI_Allgather(MPI_IN_PLACE, 0, MPI_DOUBLE, data, as_int(length), MPI_DOUBLE, c.comm)
                   : as_one_element(length, [=](MPI_Datatype all) {
                       return MPI_Allgather(MPI_IN_PLACE, 0, MPI_DOUBLE, data, 1, all, comm);
                     }));
     },
     [](const Communicator& c) { c.allgather_inplace(many_span); }, probe::Kind::RunTime},
    {"ssend, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, first_span.data(), first_span.size());
       checked(fits(length)
                   ? MPI_Ssend(data, as_int(length), MPI_DOUBLE, 1, 7, c.comm)
                   : as_one_element(length, [=](MPI_Datatype all) { return MPI_Ssend(data, 1, all, 1, 7, comm); }));
     },
     [](const Communicator& c) { c.ssend(first_span, 1, 7); }, probe::Kind::RunTime},
    {"recv, run-time length",
     [](const Plain& c) {
       MPI_Status status;
       const auto [comm, data, length] = std::tuple(c.comm, first_span.data(), first_span.size());
       checked(fits(length) ? MPI_Recv(data, as_int(length), MPI_DOUBLE, 1, 7, c.comm, &status)
                            : as_one_element(length, [=, &status](MPI_Datatype all) {
                                return MPI_Recv(data, 1, all, 1, 7, comm, &status);
                              }));
       source = status.MPI_SOURCE;
     },
     [](const Communicator& c) { source = c.recv(first_span, 1, 7).source(); }, probe::Kind::RunTime},
    {"sendrecv_replace, run-time length",
     [](const Plain& c) {
       MPI_Status status;
       const auto [comm, data, length] = std::tuple(c.comm, first_span.data(), first_span.size());
       checked(fits(length) ? MPI_Sendrecv_replace(data, as_int(length), MPI_DOUBLE, 1, 7, 1, 7, c.comm, &status)
                            : as_one_element(length, [=, &status](MPI_Datatype all) {
                                return MPI_Sendrecv_replace(data, 1, all, 1, 7, 1, 7, comm, &status);
                              }));
       source = status.MPI_SOURCE;
     },
     [](const Communicator& c) { source = c.sendrecv_replace(first_span, 1, 7, 1, 7).source(); }, probe::Kind::RunTime},
    {"sendrecv, run-time length",
     [](const Plain& c) {
       MPI_Status status;
       const auto [send, sent] = std::pair(first_span.data(), first_span.size());
       const auto [recv, room] = std::pair(second_span.data(), second_span.size());
       const MPI_Comm comm = c.comm;
       checked(
           fits(sent) && fits(room)
               ? MPI_Sendrecv(send, as_int(sent), MPI_DOUBLE, 1, 7, recv, as_int(room), MPI_DOUBLE, 1, 7, comm, &status)
               : as_one_element(sent, [=, &status](MPI_Datatype from) {
                   return as_one_element(room, [=, &status](MPI_Datatype to) {
                     return MPI_Sendrecv(send, 1, from, 1, 7, recv, 1, to, 1, 7, comm, &status);
                   });
                 }));
       source = status.MPI_SOURCE;
     },
     [](const Communicator& c) { source = c.sendrecv(first_span, 1, 7, second_span, 1, 7).source(); },
     probe::Kind::RunTime},

    {"reduce_scatter",
     [](const Plain& c) {
       checked(MPI_Reduce_scatter(many.data(), first.data(), counts.data(), MPI_DOUBLE, MPI_SUM, c.comm));
     },
     [](const Communicator& c) { c.reduce_scatter(many, first, counts, ReduceOp::Sum); }, probe::Kind::Counts},
    {"reduce_scatter_inplace", [](const Plain& c) { checked(reduce_scatter_inplace(c)); },
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
    {"allgatherv_inplace", [](const Plain& c) { checked(allgatherv(MPI_IN_PLACE, 0, c)); },
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
    {"gatherv, off the root",
     [](const Plain& c) {
       checked(MPI_Gatherv(first.data(), len, MPI_DOUBLE, many.data(), counts.data(), displs.data(), MPI_DOUBLE, 1,
                           c.comm));
     },
     [](const Communicator& c) { c.gatherv(first, many, counts, displs, 1); }, probe::Kind::Counts},
    {"scatterv, off the root",
     [](const Plain& c) {
       checked(MPI_Scatterv(many.data(), counts.data(), displs.data(), MPI_DOUBLE, first.data(), len, MPI_DOUBLE, 1,
                            c.comm));
     },
     [](const Communicator& c) { c.scatterv(many, counts, displs, first, 1); }, probe::Kind::Counts},
    {"allgatherv", [](const Plain& c) { checked(allgatherv(first.data(), len, c)); },
     [](const Communicator& c) { c.allgatherv(first, many, counts, displs); }, probe::Kind::Counts},
    {"alltoallv",
     [](const Plain& c) {
       checked(MPI_Alltoallv(many.data(), counts.data(), displs.data(), MPI_DOUBLE, others.data(), counts.data(),
                             displs.data(), MPI_DOUBLE, c.comm));
     },
     [](const Communicator& c) { c.alltoallv(many, counts, displs, others, counts, displs); }, probe::Kind::Counts},
};

}  // namespace

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  const Plain plain{world.native(), world.rank(), world.size()};

  begin(plain);
  for (const auto& operation : operations) {
    measure(operation.name, "plain", operation.kind, operation.plain, plain);
    measure(operation.name, "ours", operation.kind, operation.ours, world);
  }
  std::_Exit(EXIT_SUCCESS);
}
