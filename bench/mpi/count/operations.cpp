// Each kind of collective of the training loop twice: in plain C, and through FerrompiBackend. Started on every rank,
// each under a tracer of its own.
#include "../../peers/sddp_ours.hpp"
#include "../../peers/sddp_plain.hpp"
#include "gate.hpp"

#include <cobre/comm/mpi.hpp>

#include <unistd.h>

#include <csignal>
#include <cstring>

#include "../../ferrompi/count/probe.hpp"

namespace {

using cobre::comm::FerrompiBackend;
using cobre::comm::ReduceOp;
using solver::checked;
using solver::Workspace;

struct Operation {
  const char* name;
  void (*plain)(MPI_Comm, Workspace&);
  void (*ours)(const FerrompiBackend&, Workspace&);
};

const Operation operations[] = {
    {"barrier", [](MPI_Comm comm, Workspace&) { checked(MPI_Barrier(comm)); },
     [](const FerrompiBackend& comm, Workspace&) { comm.barrier(); }},
    {"broadcast of a value", [](MPI_Comm comm, Workspace& w) { checked(MPI_Bcast(&w.bound, 1, MPI_DOUBLE, 0, comm)); },
     [](const FerrompiBackend& comm, Workspace& w) { w.bound = comm.broadcast(w.bound, 0); }},
    {"allreduce of a value",
     [](MPI_Comm comm, Workspace& w) { checked(MPI_Allreduce(&w.workers, &w.fewest, 1, MPI_UINT64_T, MPI_MIN, comm)); },
     [](const FerrompiBackend& comm, Workspace& w) { w.fewest = comm.allreduce(w.workers, ReduceOp::Min); }},
    {"allreduce of counts",
     [](MPI_Comm comm, Workspace& w) {
       checked(MPI_Allreduce(w.binding.own.data(), w.binding.all.data(), static_cast<int>(w.binding.own.size()),
                             MPI_UINT64_T, MPI_SUM, comm));
     },
     [](const FerrompiBackend& comm, Workspace& w) { comm.allreduce(w.binding.own, w.binding.all, ReduceOp::Sum); }},
    {"allgatherv of states",
     [](MPI_Comm comm, Workspace& w) {
       checked(MPI_Allgatherv(w.states.own.data(), static_cast<int>(w.states.own.size()), MPI_DOUBLE,
                              w.states.all.data(), w.states.int_counts.data(), w.states.int_displs.data(), MPI_DOUBLE,
                              comm));
     },
     [](const FerrompiBackend& comm, Workspace& w) {
       comm.allgatherv(w.states.own, w.states.all, w.states.counts, w.states.displs);
     }},
};

// The tracer counts from the signal to here.
[[gnu::noinline]] void end_of_region() {
  __asm__ volatile("");
}

template <class Context>
[[gnu::noinline]] void region(void (*function)(Context, Workspace&), Context context, Workspace& workspace) {
  raise(SIGSTOP);
  function(context, workspace);
  end_of_region();
}

void write(const probe::Record& record) {
  if (::write(STDOUT_FILENO, &record, sizeof record) != sizeof record) std::abort();
}

template <class Context>
void measure(const char* name, const char* side, void (*function)(Context, Workspace&), Context context,
             Workspace& workspace) {
  probe::Record record{};
  std::strncpy(record.operation, name, sizeof record.operation - 1);
  std::strncpy(record.side, side, sizeof record.side - 1);
  for (int i = 0; i < 3; ++i) function(context, workspace);  // first calls may set something up once
  const auto allocations = probe::allocations;
  const auto calls = probe::mpi_calls;
  function(context, workspace);
  record.allocations = probe::allocations - allocations;
  record.mpi_calls = probe::mpi_calls - calls;
  region<Context>(function, context, workspace);
  write(record);
}

}  // namespace

int main() {
  const auto comm = FerrompiBackend::init(ferrompi::ThreadLevel::Single);
  Workspace workspace({.stages = 2, .passes = 8, .state = 2, .capacity = 8, .statistics = 2}, comm.rank(), comm.size());
  probe::Record header{};
  header.end_address = reinterpret_cast<std::uint64_t>(&end_of_region);
  write(header);

  probe::gate_is_shut = true;
  const MPI_Comm native = comm.native();
  measure<MPI_Comm>(
      "", "none", [](MPI_Comm, Workspace&) {}, native, workspace);
  for (const auto& operation : operations) {
    measure<MPI_Comm>(operation.name, "plain", operation.plain, native, workspace);
    measure<const FerrompiBackend&>(operation.name, "ours", operation.ours, comm, workspace);
  }
  probe::gate_is_shut = false;
}
