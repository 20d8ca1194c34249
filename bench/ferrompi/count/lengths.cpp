// The operations with lengths that are known only at run time. Plain C has a way for those beyond an int: the
// alternative is to cut them silently.
#include "operations.hpp"
#include "plain.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

std::span<double> first_span = first;
std::span<double> second_span = second;
std::span<double> many_span = many;
std::span<double> others_span = others;
std::vector<double> given(n);

namespace {

// The whole everywhere, of which each rank keeps its block.
[[gnu::cold, gnu::noinline]] int large_reduce_scatter_block(const double* send, double* recv, std::size_t length,
                                                            const Plain& c) {
  std::vector<double> whole(length * static_cast<std::size_t>(c.size));
  const int code = by_pieces(whole.size(), [&](std::size_t from, int count) {
    return MPI_Allreduce(send + from, whole.data() + from, count, MPI_DOUBLE, MPI_SUM, c.comm);
  });
  std::copy_n(whole.data() + static_cast<std::size_t>(c.rank) * length, length, recv);
  return code;
}

// MPICH ends the process where a block begins beyond an int.
inline bool shares_fit(std::size_t length, const Plain& c) {
  return ferrompi::detail::fails_beyond_int ? fits(length * static_cast<std::size_t>(c.size)) : blocks_fit(length, c);
}

// What each rank gets of a buffer whose length is known only now.
inline std::size_t share_of(std::span<const double> all, const Plain& c) {
  return all.size() / static_cast<std::size_t>(c.size);
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

const Operation operations[] = {
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
    {"allreduce of a container given away, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, given.data(), given.size());
       checked(fits(length) ? MPI_Allreduce(MPI_IN_PLACE, data, as_int(length), MPI_DOUBLE, MPI_SUM, comm)
                            : by_pieces(length, [=](std::size_t from, int count) {
                                return MPI_Allreduce(MPI_IN_PLACE, data + from, count, MPI_DOUBLE, MPI_SUM, comm);
                              }));
       std::vector<double> mine(std::move(given));
       given = std::move(mine);
     },
     [](const Communicator& c) { given = c.allreduce(std::move(given), ReduceOp::Sum); }, probe::Kind::RunTime},
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
       checked(shares_fit(length, c) ? MPI_Reduce_scatter_block(send, recv, as_int(length), MPI_DOUBLE, MPI_SUM, c.comm)
                                     : large_reduce_scatter_block(send, recv, length, c));
     },
     [](const Communicator& c) { c.reduce_scatter_block(many_span, first_span, ReduceOp::Sum); }, probe::Kind::RunTime},
    {"reduce_scatter_block_inplace, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, many_span.data(), share_of(many_span, c));
       checked(shares_fit(length, c)
                   ? MPI_Reduce_scatter_block(MPI_IN_PLACE, data, as_int(length), MPI_DOUBLE, MPI_SUM, comm)
                   : large_reduce_scatter_block(data, data, length, c));
     },
     [](const Communicator& c) { c.reduce_scatter_block_inplace(many_span, ReduceOp::Sum); }, probe::Kind::RunTime},
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
    {"alltoall_inplace, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, many_span.data(), share_of(many_span, c));
       checked(blocks_fit(length, c)
                   ? MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, data, as_int(length), MPI_DOUBLE, c.comm)
                   : as_one_element(length, [=](MPI_Datatype all) {
                       return MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DOUBLE, data, 1, all, comm);
                     }));
     },
     [](const Communicator& c) { c.alltoall_inplace(many_span); }, probe::Kind::RunTime},
    {"gather_inplace, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, many_span.data(), share_of(many_span, c));
       if (c.rank != 0) {
         checked(blocks_fit(many_span.size(), c)
                     ? MPI_Gather(data, as_int(many_span.size()), MPI_DOUBLE, nullptr, 0, MPI_DOUBLE, 0, c.comm)
                     : as_one_element(many_span.size(), [=](MPI_Datatype all) {
                         return MPI_Gather(data, 1, all, nullptr, 0, MPI_DOUBLE, 0, comm);
                       }));
         return;
       }
       checked(blocks_fit(length, c)
                   ? MPI_Gather(MPI_IN_PLACE, 0, MPI_DOUBLE, data, as_int(length), MPI_DOUBLE, 0, c.comm)
                   : as_one_element(length, [=](MPI_Datatype all) {
                       return MPI_Gather(MPI_IN_PLACE, 0, MPI_DOUBLE, data, 1, all, 0, comm);
                     }));
     },
     [](const Communicator& c) { c.gather_inplace(many_span, 0); }, probe::Kind::RunTime},
    {"scatter_inplace, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, many_span.data(), share_of(many_span, c));
       if (c.rank != 0) {
         checked(blocks_fit(many_span.size(), c)
                     ? MPI_Scatter(nullptr, 0, MPI_DOUBLE, data, as_int(many_span.size()), MPI_DOUBLE, 0, c.comm)
                     : as_one_element(many_span.size(), [=](MPI_Datatype all) {
                         return MPI_Scatter(nullptr, 0, MPI_DOUBLE, data, 1, all, 0, comm);
                       }));
         return;
       }
       checked(blocks_fit(length, c)
                   ? MPI_Scatter(data, as_int(length), MPI_DOUBLE, MPI_IN_PLACE, 0, MPI_DOUBLE, 0, c.comm)
                   : as_one_element(length, [=](MPI_Datatype all) {
                       return MPI_Scatter(data, 1, all, MPI_IN_PLACE, 0, MPI_DOUBLE, 0, comm);
                     }));
     },
     [](const Communicator& c) { c.scatter_inplace(many_span, 0); }, probe::Kind::RunTime},
    {"reduce_inplace, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, first_span.data(), first_span.size());
       const void* const send = c.rank == 0 ? MPI_IN_PLACE : data;
       checked(fits(length) ? MPI_Reduce(send, data, as_int(length), MPI_DOUBLE, MPI_SUM, 0, c.comm)
                            : by_pieces(length, [=, here = c.rank == 0](std::size_t from, int count) {
                                return MPI_Reduce(here ? MPI_IN_PLACE : data + from, data + from, count, MPI_DOUBLE,
                                                  MPI_SUM, 0, comm);
                              }));
     },
     [](const Communicator& c) { c.reduce_inplace(first_span, ReduceOp::Sum, 0); }, probe::Kind::RunTime},
    {"scan_inplace, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, first_span.data(), first_span.size());
       checked(fits(length) ? MPI_Scan(MPI_IN_PLACE, data, as_int(length), MPI_DOUBLE, MPI_SUM, c.comm)
                            : by_pieces(length, [=](std::size_t from, int count) {
                                return MPI_Scan(MPI_IN_PLACE, data + from, count, MPI_DOUBLE, MPI_SUM, comm);
                              }));
     },
     [](const Communicator& c) { c.scan_inplace(first_span, ReduceOp::Sum); }, probe::Kind::RunTime},
    {"exscan_inplace, run-time length",
     [](const Plain& c) {
       const auto [comm, data, length] = std::tuple(c.comm, first_span.data(), first_span.size());
       checked(fits(length) ? MPI_Exscan(MPI_IN_PLACE, data, as_int(length), MPI_DOUBLE, MPI_SUM, c.comm)
                            : by_pieces(length, [=](std::size_t from, int count) {
                                return MPI_Exscan(MPI_IN_PLACE, data + from, count, MPI_DOUBLE, MPI_SUM, comm);
                              }));
     },
     [](const Communicator& c) { c.exscan_inplace(first_span, ReduceOp::Sum); }, probe::Kind::RunTime},
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
};

}  // namespace

int main() {
  return count_all(operations);
}
