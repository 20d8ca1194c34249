// The same exchanges by plain MPI calls: `peer <single|multiple>`.
#include <mpi.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "pattern.hpp"

namespace {

using namespace pattern;

struct Exchange {
  Exchange(std::size_t total, std::size_t width, int rank, int size)
      : mine(Shares(total, width, static_cast<std::size_t>(size)).counts[static_cast<std::size_t>(rank)], 1.0),
        all(total * width) {
    const Shares shares(total, width, static_cast<std::size_t>(size));
    counts.assign(shares.counts.begin(), shares.counts.end());
    displs.assign(shares.displs.begin(), shares.displs.end());
  }
  void operator()() {
    MPI_Allgatherv(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, all.data(), counts.data(), displs.data(),
                   MPI_DOUBLE, MPI_COMM_WORLD);
  }
  std::vector<double> mine, all;
  std::vector<int> counts, displs;
};

}  // namespace

int main(int argc, char** argv) {
  const bool multiple = argc > 1 && std::string_view(argv[1]) == "multiple";
  int granted = 0, rank = 0, size = 1;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  {
    Exchange visited(scenarios, (stages - 1) * state, rank, size), cuts(scenarios, cut, rank, size),
        bounds(scenarios + openings, 1, rank, size);
    const std::array<std::uint64_t, 3> effort{1, 2, 3};
    std::array<std::uint64_t, 3> sums{};
    measure(
        "allgatherv", rank == 0,
        [&] {
          visited();
          for (std::size_t stage = 0; stage + 1 < stages; ++stage) cuts();
          bounds();
          MPI_Allreduce(effort.data(), sums.data(), 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        },
        [&](double time) {
          double most = 0.0;
          MPI_Allreduce(&time, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
          return most;
        });
  }
  MPI_Finalize();
}
