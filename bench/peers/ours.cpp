// This library's side of the comparison, on whichever backend it was started: `ours <single|multiple> <batch> <total>
// <operation> <sizes>`. The first is for MPI. The operation `regions` is allreduce with buffers in shared regions,
// `persistent-allreduce` and its like set plans beside plain calls, `sddp` is an iteration of the solver, and
// `sddp-example` one of the reference application, where `-regions` exchanges through shared regions. The
// launcher binds the ranks: the shm backend looks at its cores when it starts.

#include <cobre/comm.hpp>

#include <list>
#include <string_view>

#include "example_ours.hpp"
#include "our_ranks.hpp"
#include "plans.hpp"
#include "sddp.hpp"
#include "sddp_ours.hpp"

namespace {

// Each rank's part of a region is its buffer.
template <class Comm>
class Regions {
 public:
  explicit Regions(const Comm& comm) : comm_(comm) {}

  std::span<double> allocate(std::size_t n) {
    return regions_.emplace_back(comm_.template create_shared_region<double>(n * comm_.size())).as_partition_span();
  }

 private:
  using Region = decltype(std::declval<const Comm&>().template create_shared_region<double>(1));
  const Comm& comm_;
  std::list<Region> regions_;
};

template <class Comm>
void contend(const Comm& comm, const bench::Task& task) {
  bench::OurRanks ranks(comm);
  constexpr std::string_view persistent = "persistent-";
  if (task.operation.starts_with(persistent)) {
    for (const std::size_t bytes : task.sizes) {
      bench::Plans(comm, task.operation.substr(persistent.size()), bytes).run(task.pace);
    }
  } else if (task.operation == "sddp") {
    bench::compete_in_pattern(ranks, task, [&](solver::Workspace& workspace) { solver::train(comm, workspace); });
  } else if (task.operation == "sddp-example") {
    bench::run_example(comm, task);
  } else if (task.operation == "sddp-example-regions") {
    bench::run_example_in_regions(comm, task);
  } else if (task.operation == "regions") {
    bench::compete(ranks, task, [&] { return Regions(comm); });
  } else {
    bench::compete(ranks, task);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto words = std::span(argv, static_cast<std::size_t>(argc)).subspan(1);
  const bench::Task task = bench::read_task(words.subspan(1));
#ifdef COBRE_COMM_HAS_MPI
  // A program without threads of its own asks for no more, and neither do the peers then.
  if (std::string_view(words[0]) == "single") {
    contend(cobre::comm::FerrompiBackend::init(ferrompi::ThreadLevel::Single), task);
    return 0;
  }
#endif
  return cobre::comm::run([&](const auto& comm) { contend(comm, task); });
}
