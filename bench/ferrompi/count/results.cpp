// Blocking operations on parts with 64-bit lengths, and those that make the container of their result: plain C
// allocates as much for the same result.
#include "operations.hpp"
#include "plain_parts.hpp"

#include <vector>

double value = 1.0;
std::array<double, probe::ranks> values;  // one for each rank
std::size_t length = n;
std::span<double> many_span = many;
std::array<std::size_t, probe::ranks> counts = {8, 8, 8, 8};
std::array<std::size_t, probe::ranks> displs = {0, 8, 16, 24};

namespace {

// What a caller would go on with.
template <class T>
[[gnu::noinline]] void keep(const T& result) {
  __asm__ volatile("" : : "r"(&result) : "memory");
}

int part_of(const Plain& c) {
  return static_cast<int>(values.size() / ranks_of(c));
}

void gather(const Plain& c, int root) {
  std::vector<double> all(c.rank == root ? ranks_of(c) : 0);
  checked(MPI_Gather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, root, c.comm));
  keep(all);
}

void gatherv(const Plain& c, int root) {
  Parts all(c.rank == root ? ranks_of(c) : 0);
  const std::size_t own = length;
  checked(MPI_Gather(&own, 1, MPI_UINT64_T, all.counts.data(), 1, MPI_UINT64_T, root, c.comm));
  if (c.rank == root) all.make_room();
  checked(gatherv(first.data(), own, all.values.data(), all.counts.data(), all.displs.data(), root, c));
  keep(all);
}

const Operation operations[] = {
    {"gatherv, 64-bit counts",
     [](const Plain& c) { checked(gatherv(first.data(), n, many.data(), counts.data(), displs.data(), 0, c)); },
     [](const Communicator& c) { c.gatherv(first, many, counts, displs, 0); }, probe::Kind::Counts},
    {"gatherv, 64-bit counts, off the root",
     [](const Plain& c) { checked(gatherv(first.data(), n, many.data(), counts.data(), displs.data(), 1, c)); },
     [](const Communicator& c) { c.gatherv(first, many, counts, displs, 1); }, probe::Kind::Counts},
    {"scatterv, 64-bit counts",
     [](const Plain& c) { checked(scatterv(many.data(), counts.data(), displs.data(), first.data(), n, 0, c)); },
     [](const Communicator& c) { c.scatterv(many, counts, displs, first, 0); }, probe::Kind::Counts},
    {"scatterv, 64-bit counts, off the root",
     [](const Plain& c) { checked(scatterv(many.data(), counts.data(), displs.data(), first.data(), n, 1, c)); },
     [](const Communicator& c) { c.scatterv(many, counts, displs, first, 1); }, probe::Kind::Counts},
    {"allgatherv, 64-bit counts",
     [](const Plain& c) { checked(allgatherv_anywhere(first.data(), n, many.data(), counts, displs, c)); },
     [](const Communicator& c) { c.allgatherv(first, many, counts, displs); }, probe::Kind::Counts},
    {"alltoallv, 64-bit counts",
     [](const Plain& c) {
       checked(alltoallv(many.data(), counts.data(), displs.data(), others.data(), counts.data(), displs.data(), c));
     },
     [](const Communicator& c) { c.alltoallv(many, counts, displs, others, counts, displs); }, probe::Kind::Counts},
    {"reduce_scatter, 64-bit counts",
     [](const Plain& c) { checked(reduce_scatter(many.data(), first.data(), many.size(), counts.data(), c)); },
     [](const Communicator& c) { c.reduce_scatter(many, first, counts, ReduceOp::Sum); }, probe::Kind::Counts},
    {"reduce_scatter, 64-bit counts, run-time length",
     [](const Plain& c) {
       checked(reduce_scatter(many_span.data(), first.data(), many_span.size(), counts.data(), c));
     },
     [](const Communicator& c) { c.reduce_scatter(many_span, first, counts, ReduceOp::Sum); }, probe::Kind::Counts},
    {"gather of a value", [](const Plain& c) { gather(c, 1); }, [](const Communicator& c) { keep(c.gather(value, 1)); },
     probe::Kind::RunTime},
    {"gather of a value, at the root", [](const Plain& c) { gather(c, 0); },
     [](const Communicator& c) { keep(c.gather(value, 0)); }, probe::Kind::RunTime},
    {"allgather of a value",
     [](const Plain& c) {
       std::vector<double> all(ranks_of(c));
       checked(MPI_Allgather(&value, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, c.comm));
       keep(all);
     },
     [](const Communicator& c) { keep(c.allgather(value)); }, probe::Kind::RunTime},

    {"alltoall in one line",
     [](const Plain& c) {
       std::vector<double> all(values.size());
       checked(MPI_Alltoall(values.data(), part_of(c), MPI_DOUBLE, all.data(), part_of(c), MPI_DOUBLE, c.comm));
       keep(all);
     },
     [](const Communicator& c) { keep(c.alltoall(values)); }, probe::Kind::RunTime},

    {"gatherv in one line", [](const Plain& c) { gatherv(c, 0); },
     [](const Communicator& c) { keep(c.gatherv(std::span(first.data(), length), 0)); }, probe::Kind::Counts},
    {"gatherv in one line, off the root", [](const Plain& c) { gatherv(c, 1); },
     [](const Communicator& c) { keep(c.gatherv(std::span(first.data(), length), 1)); }, probe::Kind::Counts},
    {"allgatherv in one line",
     [](const Plain& c) {
       Parts all(ranks_of(c));
       const std::size_t own = length;
       checked(MPI_Allgather(&own, 1, MPI_UINT64_T, all.counts.data(), 1, MPI_UINT64_T, c.comm));
       all.make_room();
       checked(allgatherv(first.data(), own, all.values.data(), all.values.size(), all.counts.data(), all.displs.data(),
                          c));
       keep(all);
     },
     [](const Communicator& c) { keep(c.allgatherv(std::span(first.data(), length))); }, probe::Kind::Counts},
    {"scatterv in one line",
     [](const Plain& c) {
       std::size_t own = 0;
       checked(MPI_Scatter(counts.data(), 1, MPI_UINT64_T, &own, 1, MPI_UINT64_T, 0, c.comm));
       std::vector<double> part(own);
       std::vector<std::size_t> places(c.rank == 0 ? counts.size() : 0);
       if (c.rank == 0) Parts::lay_out(counts, places);
       checked(scatterv(many.data(), counts.data(), places.data(), part.data(), own, 0, c));
       keep(part);
     },
     [](const Communicator& c) { keep(c.scatterv(many, counts, 0)); }, probe::Kind::Counts},
    {"alltoallv in one line",
     [](const Plain& c) {
       Parts all(ranks_of(c));
       checked(MPI_Alltoall(counts.data(), 1, MPI_UINT64_T, all.counts.data(), 1, MPI_UINT64_T, c.comm));
       all.make_room();
       std::vector<std::size_t> places(counts.size());
       Parts::lay_out(counts, places);
       checked(alltoallv(many.data(), counts.data(), places.data(), all.values.data(), all.counts.data(),
                         all.displs.data(), c));
       keep(all);
     },
     [](const Communicator& c) { keep(c.alltoallv(many, counts)); }, probe::Kind::Counts},
};

}  // namespace

int main() {
  return count_all(operations);
}
