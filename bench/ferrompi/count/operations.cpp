// Every blocking operation with lengths that are known at compile time, and those with a count for each rank.
#include "operations.hpp"

#include <algorithm>
#include <vector>

double value = 1.0;
double result = 0.0;
std::array<double, probe::ranks> values;  // one for each rank
std::array<ferrompi::ValueIndex<double>, n> pairs, found;
std::array<bool, n> flags, any;

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

// What each rank gets of a buffer for all of them.
inline int part_of(const Plain& c) {
  return static_cast<int>(blocks / static_cast<std::size_t>(c.size));
}

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
    {"improbe and recv",
     [](const Plain& c) {
       MPI_Message message;
       MPI_Status status;
       int found = 0;
       checked(MPI_Improbe(1, 7, c.comm, &found, &message, &status));
       if (found == 0) return;
       checked(MPI_Mrecv(first.data(), len, MPI_DOUBLE, &message, &status));
       source = status.MPI_SOURCE;
     },
     [](const Communicator& c) {
       if (auto message = c.improbe(1, 7)) source = message->recv(first).source();
     }},
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
    {"scatter of a value",
     [](const Plain& c) {
       double copy = 0;
       checked(MPI_Scatter(first.data(), 1, MPI_DOUBLE, &copy, 1, MPI_DOUBLE, 1, c.comm));
       result = copy;
     },
     [](const Communicator& c) { result = c.scatter(first, 1); }},
    {"scatter of a value, at the root",
     [](const Plain& c) {
       double copy = 0;
       checked(MPI_Scatter(values.data(), 1, MPI_DOUBLE, &copy, 1, MPI_DOUBLE, 0, c.comm));
       result = copy;
     },
     [](const Communicator& c) { result = c.scatter(values, 0); }},
    {"reduce_scatter_block of a value",
     [](const Plain& c) {
       double sum = 0;
       checked(MPI_Reduce_scatter_block(values.data(), &sum, 1, MPI_DOUBLE, MPI_SUM, c.comm));
       result = sum;
     },
     [](const Communicator& c) { result = c.reduce_scatter_block(values, ReduceOp::Sum); }},
    {"ssend of a value", [](const Plain& c) { checked(MPI_Ssend(&value, 1, MPI_DOUBLE, 1, 7, c.comm)); },
     [](const Communicator& c) { c.ssend(value, 1, 7); }},
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

    {"allreduce of pairs",
     [](const Plain& c) {
       checked(MPI_Allreduce(pairs.data(), found.data(), len, MPI_DOUBLE_INT, MPI_MAXLOC, c.comm));
     },
     [](const Communicator& c) { c.allreduce(pairs, found, ReduceOp::MaxLoc); }},
    {"allreduce of bool",
     [](const Plain& c) { checked(MPI_Allreduce(flags.data(), any.data(), len, MPI_CXX_BOOL, MPI_LOR, c.comm)); },
     [](const Communicator& c) { c.allreduce(flags, any, ReduceOp::LogicalOr); }},

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
  return count_all(operations);
}
