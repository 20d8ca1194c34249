// An MPI library's side of the comparison: `peer <single|multiple> <batch> <total> <operation> <sizes>`.

#include <mpi.h>

#include <string_view>

#include "collectives.hpp"
#include "example.hpp"
#include "sddp.hpp"
#include "sddp_plain.hpp"

namespace {

struct Ranks {
  int rank = 0;
  int size = 1;

  static void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  static void allreduce(std::span<const double> send, std::span<double> recv) {
    MPI_Allreduce(send.data(), recv.data(), static_cast<int>(send.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  static void broadcast(std::span<double> buffer) {
    MPI_Bcast(buffer.data(), static_cast<int>(buffer.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  static void allgatherv(std::span<const double> send, std::span<double> recv, const bench::Parts& parts) {
    MPI_Allgatherv(send.data(), static_cast<int>(send.size()), MPI_DOUBLE, recv.data(), parts.int_counts.data(),
                   parts.int_displs.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  }
  static void reduce(std::span<const double> send, std::span<double> recv) {
    MPI_Reduce(send.data(), recv.data(), static_cast<int>(send.size()), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  }
  static void scan(std::span<const double> send, std::span<double> recv) {
    MPI_Scan(send.data(), recv.data(), static_cast<int>(send.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  static void exscan(std::span<const double> send, std::span<double> recv) {
    MPI_Exscan(send.data(), recv.data(), static_cast<int>(send.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  static void reduce_scatter_block(std::span<const double> send, std::span<double> recv) {
    const int part = static_cast<int>(recv.size());
    MPI_Reduce_scatter_block(send.data(), recv.data(), part, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  static void gather(std::span<const double> send, std::span<double> recv) {
    const int part = static_cast<int>(send.size());
    MPI_Gather(send.data(), part, MPI_DOUBLE, recv.data(), part, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  static void scatter(std::span<const double> send, std::span<double> recv) {
    const int part = static_cast<int>(recv.size());
    MPI_Scatter(send.data(), part, MPI_DOUBLE, recv.data(), part, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  static void allgather(std::span<const double> send, std::span<double> recv) {
    const int part = static_cast<int>(send.size());
    MPI_Allgather(send.data(), part, MPI_DOUBLE, recv.data(), part, MPI_DOUBLE, MPI_COMM_WORLD);
  }
  void alltoall(std::span<const double> send, std::span<double> recv) const {
    const int part = static_cast<int>(send.size()) / size;
    MPI_Alltoall(send.data(), part, MPI_DOUBLE, recv.data(), part, MPI_DOUBLE, MPI_COMM_WORLD);
  }
  static void gatherv(std::span<const double> send, std::span<double> recv, const bench::Parts& parts) {
    MPI_Gatherv(send.data(), static_cast<int>(send.size()), MPI_DOUBLE, recv.data(), parts.int_counts.data(),
                parts.int_displs.data(), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  static void scatterv(std::span<const double> send, std::span<double> recv, const bench::Parts& parts) {
    MPI_Scatterv(send.data(), parts.int_counts.data(), parts.int_displs.data(), MPI_DOUBLE, recv.data(),
                 static_cast<int>(recv.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  static void alltoallv(std::span<const double> send, std::span<double> recv, const bench::Parts& parts) {
    MPI_Alltoallv(send.data(), parts.int_counts.data(), parts.int_displs.data(), MPI_DOUBLE, recv.data(),
                  parts.int_counts.data(), parts.int_displs.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  }
  static void send(std::span<const double> data, int to) {
    MPI_Send(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, to, 0, MPI_COMM_WORLD);
  }
  static void recv(std::span<double> data, int from) {
    MPI_Recv(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  static void slowest(std::span<double> times) {
    MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bool single = argc > 1 && std::string_view(argv[1]) == "single";
  const int wanted = single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  Ranks ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  if (provided < wanted) {
    if (ranks.rank == 0) std::fputs(bench::without_threads, stderr);
    MPI_Finalize();
    return 1;
  }
  bench::pin(ranks.rank, ranks.size);
  const bench::Task task = bench::read_task(std::span(argv, static_cast<std::size_t>(argc)).subspan(2));
  if (task.operation.starts_with("sddp-example")) {
    bench::Example example(static_cast<std::size_t>(ranks.rank), static_cast<std::size_t>(ranks.size));
    const auto gather = [](bench::Exchange& one) { Ranks::allgatherv(one.own, one.all, one.parts); };
    const auto sum = [](const auto& mine, auto& all) {
      MPI_Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    };
    bench::compete_in_example(
        ranks, task, example, [&] { bench::iterate(example, gather, sum); },
        [](const bench::Exchange& one) { return one.is_right(one.all); });
  } else if (task.operation == "sddp") {
    bench::compete_in_pattern(ranks, task,
                              [](solver::Workspace& workspace) { solver::train_plain(MPI_COMM_WORLD, workspace); });
  } else {
    bench::compete(ranks, task);
  }
  MPI_Finalize();
}
