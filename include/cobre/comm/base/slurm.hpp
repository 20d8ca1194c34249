// What Slurm says about the job, read from the environment of this process. Nothing is cached and nothing is guessed:
// a variable that is unset, empty or not what Slurm would write gives no value.
//
// The variables describe the task that Slurm itself started. Under `srun` that is this process; under `mpirun` inside
// an allocation it may be the launcher's daemon, whose task numbers are not MPI ranks.
#pragma once

#include <cobre/comm/base/number.hpp>

#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace cobre::comm::slurm {

namespace detail {

using comm::detail::parse_number;

/// Slurm writes one number a node and folds repeats: `4(x2),3` is 4, 4 and 3.
struct Repeated {
  int value;
  std::int64_t nodes;
};

/// Takes the next item off the front of `list`.
[[nodiscard]] constexpr std::optional<Repeated> next_repeated(std::string_view& list) noexcept {
  const auto comma = list.find(',');
  std::string_view item = list.substr(0, comma);
  list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  if (comma != std::string_view::npos && list.empty()) return std::nullopt;  // a trailing comma
  std::int64_t nodes = 1;
  if (const auto open = item.find('('); open != std::string_view::npos) {
    const std::string_view repeat = item.substr(open);
    if (repeat.size() < 4 || !repeat.starts_with("(x") || repeat.back() != ')') return std::nullopt;
    const auto count = parse_number<std::int64_t>(repeat.substr(2, repeat.size() - 3));
    if (!count || *count == 0) return std::nullopt;
    nodes = *count;
    item = item.substr(0, open);
  }
  const auto value = parse_number<int>(item);
  if (!value) return std::nullopt;
  return Repeated{*value, nodes};
}

[[nodiscard]] inline std::optional<std::string_view> text(const char* name) noexcept {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string_view(value);
}

/// The first of several names for one thing that holds a good value; newer names stand first.
template <std::integral N>
[[nodiscard]] inline std::optional<N> number(std::initializer_list<const char*> names) noexcept {
  for (const char* const name : names) {
    if (const auto value = text(name)) {
      if (const auto parsed = parse_number<N>(*value)) return parsed;
    }
  }
  return std::nullopt;
}

[[nodiscard]] inline std::optional<std::string> string(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (const auto value = text(name)) return std::string(*value);
  }
  return std::nullopt;
}

}  // namespace detail

/// The entry of one node in a list such as `4(x2),3`. Without a node the list must say the same for all of them.
[[nodiscard]] constexpr std::optional<int> value_for_node(std::string_view list, std::optional<int> node) noexcept {
  std::optional<int> answer;
  bool uniform = true;
  std::int64_t first = 0;  // the node that the next item begins with
  do {
    const auto item = detail::next_repeated(list);
    if (!item) return std::nullopt;  // one bad item makes the whole list doubtful, also where it is well formed
    if (node) {
      if (*node >= first && *node - first < item->nodes) answer = item->value;
      first = item->nodes > INT64_MAX - first ? INT64_MAX : first + item->nodes;
    } else {
      uniform = uniform && (!answer || *answer == item->value);
      answer = item->value;
    }
  } while (!list.empty());
  return uniform ? answer : std::nullopt;
}

[[nodiscard]] inline std::optional<std::string> job_id() {
  return detail::string({"SLURM_JOB_ID", "SLURM_JOBID"});
}
[[nodiscard]] inline std::optional<std::string> job_name() {
  return detail::string({"SLURM_JOB_NAME"});
}
[[nodiscard]] inline std::optional<std::string> step_id() {
  return detail::string({"SLURM_STEP_ID", "SLURM_STEPID"});
}

/// Whether this process belongs to a Slurm job.
[[nodiscard]] inline bool is_slurm_job() noexcept {
  return detail::text("SLURM_JOB_ID").has_value() || detail::text("SLURM_JOBID").has_value();
}

/// The rank of this task in its step.
[[nodiscard]] inline std::optional<int> process_id() noexcept {
  return detail::number<int>({"SLURM_PROCID"});
}

/// The rank of this task among those of its step on the same node.
[[nodiscard]] inline std::optional<int> local_rank() noexcept {
  return detail::number<int>({"SLURM_LOCALID"});
}

/// Where this node stands in the list of nodes.
[[nodiscard]] inline std::optional<int> node_id() noexcept {
  return detail::number<int>({"SLURM_NODEID"});
}

/// Tasks of this step; there is no value outside of a step.
[[nodiscard]] inline std::optional<int> step_num_tasks() noexcept {
  return detail::number<int>({"SLURM_STEP_NUM_TASKS"});
}

/// Tasks of the step where there is one, otherwise of the job.
[[nodiscard]] inline std::optional<int> num_tasks() noexcept {
  return detail::number<int>({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
}

/// Tasks on this node. What a step really put on the node outranks what was asked for a node, because the last node
/// of a job may hold fewer; what was asked for outranks the plan of the job, which a step need not follow.
[[nodiscard]] inline std::optional<int> local_size() noexcept {
  if (const auto list = detail::text("SLURM_STEP_TASKS_PER_NODE")) {
    if (const auto tasks = value_for_node(*list, node_id())) return tasks;
  }
  if (const auto tasks = detail::number<int>({"SLURM_NTASKS_PER_NODE"})) return tasks;
  if (const auto list = detail::text("SLURM_TASKS_PER_NODE")) return value_for_node(*list, node_id());
  return std::nullopt;
}

/// Nodes of the job.
[[nodiscard]] inline std::optional<int> num_nodes() noexcept {
  return detail::number<int>({"SLURM_JOB_NUM_NODES", "SLURM_NNODES"});
}

/// Nodes of the step; there is no value outside of a step.
[[nodiscard]] inline std::optional<int> step_num_nodes() noexcept {
  return detail::number<int>({"SLURM_STEP_NUM_NODES"});
}

[[nodiscard]] inline std::optional<int> cpus_per_task() noexcept {
  return detail::number<int>({"SLURM_CPUS_PER_TASK"});
}

/// CPUs that the job holds on this node.
[[nodiscard]] inline std::optional<int> cpus_on_node() noexcept {
  return detail::number<int>({"SLURM_CPUS_ON_NODE"});
}

/// Memory that was asked for on each node, in MB; 0 asks for all of it.
[[nodiscard]] inline std::optional<std::uint64_t> memory_per_node_mb() noexcept {
  return detail::number<std::uint64_t>({"SLURM_MEM_PER_NODE"});
}

/// Memory that was asked for with each CPU, in MB.
[[nodiscard]] inline std::optional<std::uint64_t> memory_per_cpu_mb() noexcept {
  return detail::number<std::uint64_t>({"SLURM_MEM_PER_CPU"});
}

/// Bytes that the job may use on this node: what was asked for the node, otherwise for each CPU times the CPUs that it
/// holds here. No value where it may use all there is, or nothing was said.
[[nodiscard]] inline std::optional<std::uint64_t> memory_on_node_bytes() noexcept {
  constexpr std::uint64_t most = UINT64_MAX >> 20;  // megabytes, as Slurm counts them: 2^20 bytes
  if (const auto node = memory_per_node_mb()) {
    return *node > 0 && *node <= most ? std::optional(*node << 20) : std::nullopt;
  }
  const auto each = memory_per_cpu_mb();
  const auto cpus = cpus_on_node();
  std::uint64_t megabytes = 0;
  if (!each || !cpus || __builtin_mul_overflow(*each, static_cast<std::uint64_t>(*cpus), &megabytes)) {
    return std::nullopt;
  }
  return megabytes > 0 && megabytes <= most ? std::optional(megabytes << 20) : std::nullopt;
}

/// The name by which Slurm knows this node.
[[nodiscard]] inline std::optional<std::string> node_name() {
  return detail::string({"SLURM_NODENAME", "SLURMD_NODENAME"});
}

/// The nodes of the job as Slurm folds them: `n[1-3,7]`.
[[nodiscard]] inline std::optional<std::string> node_list() {
  return detail::string({"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
}

/// The nodes of the step; there is no value outside of a step.
[[nodiscard]] inline std::optional<std::string> step_node_list() {
  return detail::string({"SLURM_STEP_NODELIST"});
}

}  // namespace cobre::comm::slurm
