// One random reduction, with every element of its result checked.
#pragma once

#include "stress/soak_data.hpp"

namespace stress {

inline constexpr std::uint64_t reductions = 9;

template <class T, class Op, class Combine>
void reduce_by(const cobre::comm::CommBackend& comm, const Draw& draw, const Op& op, const Combine& combine) {
  const auto of_ranks = [&](std::size_t ranks, std::size_t index) {
    T value = element<T>(draw.salt, 0, index);
    for (std::size_t rank = 1; rank < ranks; ++rank) value = combine(value, element<T>(draw.salt, rank, index));
    return value;
  };
  const auto require_of = [&](const std::vector<T>& values, std::size_t ranks, std::size_t first, const char* what) {
    for (std::size_t i = 0; i < values.size(); ++i) require(values[i] == of_ranks(ranks, first + i), what);
  };
  const auto own = elements<T>(draw.salt, comm.rank(), draw.count);
  std::vector<T> result(draw.count);
  switch (draw.which % reductions) {
    case 0: comm.allreduce(own, result, op); return require_of(result, comm.size(), 0, "allreduce");
    case 1:
      result = own;
      comm.allreduce_inplace(result, op);
      return require_of(result, comm.size(), 0, "allreduce_inplace");
    case 2:
      comm.reduce(own, result, op, draw.root);
      if (comm.rank() == draw.root) require_of(result, comm.size(), 0, "reduce");
      return;
    case 3: comm.scan(own, result, op); return require_of(result, comm.rank() + 1, 0, "scan");
    case 4:
      comm.exscan(own, result, op);
      if (comm.rank() != 0) require_of(result, comm.rank(), 0, "exscan");
      return;
    case 5:
      comm.reduce_scatter_block(elements<T>(draw.salt, comm.rank(), draw.count * comm.size()), result, op);
      return require_of(result, comm.size(), comm.rank() * draw.count, "reduce_scatter_block");
    case 6: {
      // Where MPI has no threads, it folds nothing for a callable beside the caller.
      if constexpr (!std::same_as<Op, cobre::comm::ReduceOp>) {
        comm.allreduce(own, result, op, cobre::comm::Reproducible::Yes);
        return require_of(result, comm.size(), 0, "reproducible allreduce");
      } else {
        auto request = comm.iallreduce(own, result, op);
        comm.barrier();
        request.wait();
        return require_of(result, comm.size(), 0, "iallreduce");
      }
    }
    case 7:
      if constexpr (std::same_as<T, double>) {
        double sum = 0;
        for (std::size_t rank = 0; rank < comm.size(); ++rank) {
          for (const double value : elements<T>(draw.salt, rank, draw.count)) sum += value;
        }
        return require(comm.reproducible_sum(own) == sum, "reproducible_sum");
      }
      [[fallthrough]];
    default:
      require(comm.allreduce(element<T>(draw.salt, comm.rank(), 0), op) == of_ranks(comm.size(), 0), "one value");
  }
}

template <class T>
void reduction(const cobre::comm::CommBackend& comm, const Draw& draw) {
  with_op<T>(draw.op, [&](const auto& op, const auto& combine) { reduce_by<T>(comm, draw, op, combine); });
}

}  // namespace stress
