#include "allocation.hpp"

#include <cobre/comm/base/slurm.hpp>

#include <cstdlib>
#include <sstream>

#include "comm/topology/host.hpp"
#include "options.hpp"
#include "program.hpp"

namespace cobre::command {

namespace slurm = comm::slurm;

namespace {

// What Slurm itself started on a node knows by which name, also where it holds another job by now. Otherwise the names
// tell; a node whose name in Slurm is not its host's is taken for another machine, and the step that is started for it
// runs here all the same.
bool is_this_machine(const std::string& node) {
  if (const auto name = slurm::node_name()) return node == *name;
  const std::string host = comm::topology::host_name();
  return node == host || node == host.substr(0, host.find('.'));
}

// More ranks than were asked of Slurm: neighbours stay together, as they do with fewer.
void spread(std::vector<HostShare>& hosts, std::size_t ranks) {
  std::size_t places = 0;
  for (const HostShare& host : hosts) places += host.ranks;
  if (ranks <= places) return;
  for (std::size_t i = 0; i < hosts.size(); ++i)
    hosts[i].ranks = ranks / hosts.size() + (i < ranks % hosts.size() ? 1 : 0);
}

}  // namespace

bool in_allocation_elsewhere() {
  // A task of a step has a rank already; starting ranks from each of them is hardly what is wanted.
  if (!slurm::is_slurm_job() || slurm::step_num_tasks().value_or(1) != 1) return false;
  if (slurm::num_nodes().value_or(1) > 1) return true;
  const auto node = slurm::node_list();
  return node && !is_this_machine(*node);
}

std::optional<std::size_t> allocated_cores() {
  const char* const list = std::getenv("SLURM_JOB_CPUS_PER_NODE");
  if (list == nullptr || !slurm::is_slurm_job() || slurm::num_nodes().value_or(1) != 1) return std::nullopt;
  const auto cores = slurm::value_for_node(list, 0);
  return cores && *cores > 0 ? std::optional(static_cast<std::size_t>(*cores)) : std::nullopt;
}

std::vector<HostShare> allocated_hosts(std::optional<std::size_t> ranks) {
  const auto scontrol = find_in_path("scontrol");
  if (!scontrol || !slurm::node_list()) {
    throw UsageError(
        "this is a Slurm job with other nodes than this machine, but scontrol is not in PATH to name them; use "
        "--hosts");
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
  if (ranks) spread(hosts, *ranks);
  return hosts;
}

std::vector<std::string> step_on(const std::string& node) {
  return {"srun",       "--overlap",          "--nodes=1",       "--ntasks=1",
          "--mpi=none", "--nodelist=" + node, "--cpu-bind=none", "--kill-on-bad-exit"};
}

}  // namespace cobre::command
