// Time for each call: plain C, ferrompi and Boost.MPI in one process, in turns, so that all see the same machine. Plain
// C stands there twice: how far it is from itself is the noise floor, below which nothing can be said.
//
//     mpirun -n 1 ferrompi_side_by_side        what a binding adds: nobody is waited for
//     mpirun -n 2 ferrompi_side_by_side        how much of that is seen once ranks really talk
#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>

#ifdef FERROMPI_BENCH_BOOST
#include <boost/mpi/collectives.hpp>
#include <boost/mpi/communicator.hpp>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

using ferrompi::Communicator;
using ferrompi::Mpi;
using ferrompi::ReduceOp;

namespace {

constexpr int rounds = 41;

struct Contender {
  const char* name;
  std::function<void(int calls)> run;
  std::vector<double> nanoseconds;  // for each call, one entry a round
};

/// The batch that was disturbed least: what a call costs, and not what else the machine was doing.
double best(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

/// The slowest rank's time; ranks start together.
double time_of(const Communicator& world, const std::function<void(int)>& run, int calls) {
  world.barrier();
  const double begin = Mpi::wtime();
  run(calls);
  return world.allreduce((Mpi::wtime() - begin) / calls * 1e9, ReduceOp::Max);
}

/// As many calls as take about two milliseconds.
int calls_for(const Communicator& world, const std::function<void(int)>& run) {
  (void)time_of(world, run, 100);
  return std::clamp(static_cast<int>(2e6 / time_of(world, run, 200)), 20, 100'000);
}

void compare(const Communicator& world, const char* operation, std::vector<Contender> contenders) {
  const int calls = calls_for(world, contenders.front().run);
  for (int round = 0; round < rounds; ++round) {
    // Another one begins in each round, so that nobody always follows the same neighbour.
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      auto& contender = contenders[(i + static_cast<std::size_t>(round)) % contenders.size()];
      contender.nanoseconds.push_back(time_of(world, contender.run, calls));
    }
  }
  if (world.rank() != 0) return;
  const double plain = best(contenders[0].nanoseconds);
  std::printf("%-12s %10.1f ns   noise %+6.1f", operation, plain, best(contenders[1].nanoseconds) - plain);
  for (std::size_t i = 2; i < contenders.size(); ++i) {
    std::printf("   %s %+6.1f", contenders[i].name, best(contenders[i].nanoseconds) - plain);
  }
  std::printf("\n");
}

void check(int code) {
  if (code != MPI_SUCCESS) std::abort();
}

template <class Call>
std::function<void(int)> repeat(Call call) {
  return [call](int calls) {
    for (int i = 0; i < calls; ++i) call();
  };
}

}  // namespace

int main() {
  const auto mpi = Mpi::init();
  const auto world = mpi.world();
  const MPI_Comm comm = world.native();
  const int rank = world.rank();
#ifdef FERROMPI_BENCH_BOOST
  const boost::mpi::communicator boost_world(comm, boost::mpi::comm_attach);
#endif
  double in = rank;
  double out = 0;
  if (rank == 0) {
#ifndef FERROMPI_BENCH_BOOST
    std::printf(
        "Boost.MPI is missing: none that was built for this MPI library was found when this program was configured; "
        "Debian's, for Open MPI, is in libboost-mpi-dev\n\n");
#endif
    std::printf("%d rank%s, one double; best of %d batches; difference to plain C in ns for each call\n\n",
                world.size(), world.size() == 1 ? "" : "s", rounds);
  }

  const auto plain_barrier = repeat([&] { check(MPI_Barrier(comm)); });
  const auto plain_broadcast = repeat([&] { check(MPI_Bcast(&in, 1, MPI_DOUBLE, 0, comm)); });
  const auto plain_allreduce = repeat([&] { check(MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, comm)); });
  compare(world, "barrier",
          {{"plain", plain_barrier, {}},
           {"plain", plain_barrier, {}},
           {"ferrompi", repeat([&] { world.barrier(); }), {}},
#ifdef FERROMPI_BENCH_BOOST
           {"Boost.MPI", repeat([&] { boost_world.barrier(); }), {}}
#endif
          });
  compare(world, "broadcast",
          {{"plain", plain_broadcast, {}},
           {"plain", plain_broadcast, {}},
           {"ferrompi", repeat([&] { world.broadcast(std::span<double, 1>(&in, 1), 0); }), {}},
#ifdef FERROMPI_BENCH_BOOST
           {"Boost.MPI", repeat([&] { boost::mpi::broadcast(boost_world, in, 0); }), {}}
#endif
          });
  compare(world, "allreduce",
          {{"plain", plain_allreduce, {}},
           {"plain", plain_allreduce, {}},
           {"ferrompi", repeat([&] { out = world.allreduce(in, ReduceOp::Sum); }), {}},
#ifdef FERROMPI_BENCH_BOOST
           {"Boost.MPI", repeat([&] { boost::mpi::all_reduce(boost_world, in, out, std::plus<double>()); }), {}}
#endif
          });

  // There and back between ranks 0 and 1; a rank alone sends to itself.
  const int peer = world.size() == 1 ? 0 : 1 - rank;
  if (world.size() == 1) {
    const auto plain = repeat([&] {
      MPI_Status status;
      check(MPI_Sendrecv(&in, 1, MPI_DOUBLE, 0, 0, &out, 1, MPI_DOUBLE, 0, 0, comm, &status));
    });
    compare(world, "sendrecv",
            {{"plain", plain, {}},
             {"plain", plain, {}},
             {"ferrompi", repeat([&] { out = world.sendrecv(in, 0, 0, 0, 0); }), {}},
#ifdef FERROMPI_BENCH_BOOST
             {"Boost.MPI", repeat([&] { boost_world.sendrecv(0, 0, in, 0, 0, out); }), {}}
#endif
            });
    return 0;
  }
  const auto ping_pong = [&](auto send, auto receive) {
    return repeat([&, send, receive] {
      if (rank == 0) {
        send();
        receive();
      } else if (rank == 1) {
        receive();
        send();
      }
    });
  };
  const auto plain = ping_pong([&] { check(MPI_Send(&in, 1, MPI_DOUBLE, peer, 0, comm)); },
                               [&] { check(MPI_Recv(&out, 1, MPI_DOUBLE, peer, 0, comm, MPI_STATUS_IGNORE)); });
  compare(world, "send, recv",
          {{"plain", plain, {}},
           {"plain", plain, {}},
           {"ferrompi", ping_pong([&] { world.send(in, peer, 0); }, [&] { world.recv(out, peer, 0); }), {}},
#ifdef FERROMPI_BENCH_BOOST
           {"Boost.MPI", ping_pong([&] { boost_world.send(peer, 0, in); }, [&] { boost_world.recv(peer, 0, out); }), {}}
#endif
          });
}
