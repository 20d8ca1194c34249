// An MPI library's side of the comparison: `peer <single|multiple> <effort> [operation [bytes]]`.

#include <mpi.h>

#include <cstring>

#include "measure.hpp"

namespace {

struct Ranks {
  int rank = 0;
  int size = 1;
  std::vector<int> counts;
  std::vector<int> displs;

  static void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  static void allreduce(const double* send, double* recv, std::size_t n) {
    MPI_Allreduce(send, recv, static_cast<int>(n), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  static void broadcast(double* buffer, std::size_t n) {
    MPI_Bcast(buffer, static_cast<int>(n), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  void allgatherv(const double* send, double* recv, std::size_t each) {
    counts.resize(static_cast<std::size_t>(size));
    displs.resize(static_cast<std::size_t>(size));
    for (std::size_t r = 0; r < counts.size(); ++r) {
      counts[r] = static_cast<int>(each);
      displs[r] = static_cast<int>(r * each);
    }
    MPI_Allgatherv(send, static_cast<int>(each), MPI_DOUBLE, recv, counts.data(), displs.data(), MPI_DOUBLE,
                   MPI_COMM_WORLD);
  }
  static double maximum(double value) {
    double result = 0;
    MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return result;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool single = argc > 1 && std::strcmp(argv[1], "single") == 0;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  bench::pin(ranks.rank, ranks.size);
  const int result = bench::compare(ranks, argc - 1, argv + 1);
  MPI_Finalize();
  return result;
}
