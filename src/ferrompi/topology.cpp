// The printed report.
#include <ferrompi/topology.hpp>

#include "ferrompi/text.hpp"

#include <algorithm>
#include <ostream>
#include <string_view>

namespace ferrompi {

TopologyInfo::TopologyInfo(std::vector<HostEntry> hosts, std::string library_version, std::string standard_version,
                           ThreadLevel thread_level, std::optional<SlurmInfo> slurm)
    : hosts_(std::move(hosts)),
      library_version_(std::move(library_version)),
      standard_version_(std::move(standard_version)),
      thread_level_(thread_level),
      slurm_(std::move(slurm)) {
  for (const auto& host : hosts_) size_ += static_cast<int>(host.ranks.size());
}

namespace {

constexpr std::size_t width = 64;

std::string banner(std::string_view title) {
  const auto left = (width - title.size()) / 2;
  return std::string(left, '=').append(title).append(width - title.size() - left, '=');
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return detail::text_of(count, " ", count == 1 ? one : many);
}

// `0, 1` and `0-3, 7`: a line stays readable with a hundred ranks on a host.
std::string folded(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t first = 0; first < ranks.size();) {
    auto last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last == first + 1) last = first;  // two neighbours read better as two numbers
    if (!text.empty()) detail::append(text, ", ");
    detail::append(text, ranks[first]);
    if (last > first) {
      detail::append(text, "-");
      detail::append(text, ranks[last]);
    }
    first = last + 1;
  }
  return text;
}

}  // namespace

// Open MPI goes on with who built it, MPICH with how: a page.
std::string TopologyInfo::library_name() const {
  std::string line = library_version_.substr(0, library_version_.find_first_of("\r\n,"));
  constexpr std::string_view mpich = "MPICH Version:";
  if (!line.starts_with(mpich)) return line;
  const auto number = line.find_first_not_of(" \t", mpich.size());
  return number == std::string::npos ? "MPICH" : "MPICH " + line.substr(number);
}

std::string to_string(const TopologyInfo& topology) {
  std::string text = banner(" MPI Topology ");
  const auto line = [&text](std::string_view label, std::string_view value) {
    text += '\n';
    text += label;
    text.append(12 - std::min<std::size_t>(label.size(), 12), ' ');
    text += value;
  };
  line("Library:", topology.library_name());
  line("Standard:", topology.standard_version());
  line("Threads:", to_string(topology.thread_level()));
  line("Processes:", detail::text_of(topology.size(), " across ", counted(topology.num_hosts(), "node", "nodes")));
  if (const auto& slurm = topology.slurm()) {
    line("SLURM Job:", slurm->job_id);
    if (slurm->node_list) line("Nodes:", *slurm->node_list);
    if (slurm->cpus_per_task) line("CPUs/Task:", detail::text_of(*slurm->cpus_per_task));
  }
  text += '\n';
  for (const auto& host : topology.hosts()) {
    text += detail::text_of("\n  ", host.hostname, ": ", host.ranks.size() == 1 ? "rank " : "ranks ",
                            folded(host.ranks), "  (", counted(host.ranks.size(), "process", "processes"), ")");
  }
  return text + '\n' + banner("");
}

std::ostream& operator<<(std::ostream& out, const TopologyInfo& topology) {
  return out << to_string(topology);
}

}  // namespace ferrompi
