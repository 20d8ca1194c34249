// Inside somebody else's program: no launcher of ours, and no environment variable is read. A function takes any
// communicator; who calls it decides what that is, and who is which rank.
//
//     library_mode                              one rank
//     library_mode threads                      three threads of this process as ranks
//     library_mode shm NAME RANK SIZE           one of the processes of a machine
//     library_mode tcp HOST:PORT RANK SIZE      one of the processes anywhere; rank 0 listens there
//     mpirun -n 3 library_mode mpi              one of the processes of MPI, which the program itself has started
#include <unistd.h>
#include <cobre/comm.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

/// A library function: parallel, and none the wiser about how.
template <cobre::comm::Communicator C>
void sum_up(const C& comm, const char* how) {
  std::uint64_t mine = 0;
  for (std::size_t i = comm.rank(); i < 1001; i += comm.size()) mine += i;
  const std::uint64_t sum = comm.allreduce(mine, cobre::comm::ReduceOp::Sum);
  if (comm.rank() == 0) std::printf("%s, %zu rank(s): %.0f\n", how, comm.size(), static_cast<double>(sum));
}

/// What is alike in the configurations of shm and tcp.
template <class Config>
void sum_up_as(std::size_t rank, std::size_t size, std::string Config::*meeting_point, const std::string& where,
               const char* how) {
  Config config;
  config.*meeting_point = where;
  config.rank = rank;
  config.size = size;
  sum_up(cobre::comm::create_communicator(config), how);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string how = words.empty() ? "local" : words[0];
  if (how == "local") sum_up(cobre::comm::LocalBackend(), "local");
#ifdef COBRE_COMM_HAS_SHM
  using cobre::comm::ShmConfig;
  if (how == "threads") {
    const std::string name = "library-" + std::to_string(getpid());
    std::array<std::thread, 3> ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks[rank] = std::thread([&, rank] { sum_up_as(rank, ranks.size(), &ShmConfig::name, name, "threads"); });
    }
    for (std::thread& rank : ranks) rank.join();
  } else if (how == "shm") {
    sum_up_as(std::stoul(words.at(2)), std::stoul(words.at(3)), &ShmConfig::name, words.at(1), "shm");
  }
#endif
#ifdef COBRE_COMM_HAS_TCP
  if (how == "tcp") {
    using cobre::comm::TcpConfig;
    sum_up_as(std::stoul(words.at(2)), std::stoul(words.at(3)), &TcpConfig::coordinator, words.at(1), "tcp");
  }
#endif
#ifdef COBRE_COMM_HAS_MPI
  if (how == "mpi") {
    MPI_Init(&argc, &argv);
    sum_up(cobre::comm::FerrompiBackend(MPI_COMM_WORLD, cobre::comm::MpiConfig()), "mpi");
    MPI_Finalize();
  }
#endif
}
