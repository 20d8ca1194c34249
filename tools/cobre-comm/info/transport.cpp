#include "transport.hpp"

#include <cobre/comm/base/slurm.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "launch.hpp"
#include "run/mpi.hpp"
#include "run/options.hpp"
#include "run/program.hpp"

namespace cobre::command {
namespace {

// The word that stands between two pieces of a line, if they are in it.
std::string between(const std::string& line, std::string_view before, std::string_view after) {
  const auto begin = line.find(before);
  if (begin == std::string::npos) return "";
  const auto end = line.find(after, begin + before.size());
  return end == std::string::npos ? "" : line.substr(begin + before.size(), end - begin - before.size());
}

std::string trial() {
  RunOptions options;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  options.command = {self, "info", "--layout"};
  options.timeout_seconds = 20;
  std::vector<std::string> command{"env", "COBRE_COMM_BACKEND=mpi", "OMPI_MCA_pml_base_verbose=10",
                                   "OMPI_MCA_mtl_base_verbose=10", "OMPI_MCA_btl_base_verbose=10"};
  const auto job = mpi_command(options, self, 2);
  command.insert(command.end(), job.begin(), job.end());
  return output_of(command);
}

}  // namespace

std::string transport_in(const std::string& told) {
  std::string layer;
  std::vector<std::string> ways;
  std::istringstream lines(told);
  for (std::string line; std::getline(lines, line);) {
    if (const auto chosen = between(line, "selected ", " best priority"); !chosen.empty()) layer = chosen;
    const auto way = between(line, "bml: Using ", " btl");
    if (!way.empty() && way != "self" && std::ranges::find(ways, way) == ways.end()) ways.push_back(way);
  }
  if (layer.empty() || ways.empty()) return layer;
  std::ranges::sort(ways);
  return comm::core::format("{} with {}", layer, comm::core::joined(ways, ", "));
}

std::string transport(const std::string& library) {
  constexpr std::string_view key = "MPICH Device:";
  if (const auto at = library.find(key); at != std::string::npos) {
    const auto begin = library.find_first_not_of(" \t", at + key.size());
    return begin == std::string::npos ? "unknown" : library.substr(begin, library.find('\n', begin) - begin);
  }
  if (own_family() != MpiFamily::OpenMpi) return "unknown";
  // Inside of a job, one more would take its place in the allocation, or wait for one.
  if (launch_of_this_process() || comm::slurm::is_slurm_job()) return "not tried inside of a job";
  if (!launcher_of(MpiFamily::OpenMpi)) return "not tried, without a launcher";
  const std::string found = transport_in(trial());
  return found.empty() ? "unknown: two processes on this machine did not start" : found + " (tried on this machine)";
}

}  // namespace cobre::command
