#include "allocation.hpp"

#include <cobre/comm/base/slurm.hpp>

#include <cstdlib>
#include <sstream>

#include "comm/core/format.hpp"
#include "options.hpp"
#include "program.hpp"

namespace cobre::command {

namespace slurm = comm::slurm;

bool in_allocation_of_several_nodes() {
  // A task of a step has a rank already; starting ranks from each of them is hardly what is wanted.
  return slurm::is_slurm_job() && slurm::num_nodes().value_or(1) > 1 && slurm::step_num_tasks().value_or(1) == 1;
}

std::vector<HostShare> allocated_hosts() {
  const auto scontrol = find_in_path("scontrol");
  if (!scontrol || !slurm::node_list()) {
    throw UsageError("this is a Slurm job of several nodes, but scontrol is not in PATH to name them; use --hosts");
  }
  // It reads the folded list from the environment.
  std::vector<HostShare> hosts;
  std::istringstream names(output_of({*scontrol, "show", "hostnames"}));
  for (std::string name; names >> name;) hosts.push_back({name, 1});
  if (hosts.empty()) throw UsageError("scontrol does not name the nodes of this job; use --hosts");
  const char* const tasks = std::getenv("SLURM_TASKS_PER_NODE");
  for (std::size_t node = 0; tasks != nullptr && node < hosts.size(); ++node) {
    const auto count = slurm::value_for_node(tasks, static_cast<int>(node));
    if (count && *count > 0) hosts[node].ranks = static_cast<std::size_t>(*count);
  }
  return hosts;
}

std::vector<std::string> step_on(const std::string& node) {
  return {"srun",       "--overlap",          "--nodes=1",       "--ntasks=1",
          "--mpi=none", "--nodelist=" + node, "--cpu-bind=none", "--kill-on-bad-exit"};
}

}  // namespace cobre::command
