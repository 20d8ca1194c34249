#include "comm/topology/host.hpp"

#include <cobre/comm/base/slurm.hpp>

#include <unistd.h>

#include <array>

namespace cobre::comm::topology {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::optional<SlurmJobInfo> slurm_job() {
  const auto job = slurm::job_id();
  if (!job) return std::nullopt;
  SlurmJobInfo info{*job, slurm::node_list(), std::nullopt};
  if (const auto cpus = slurm::cpus_per_task()) info.cpus_per_task = static_cast<unsigned>(*cpus);
  return info;
}

}  // namespace cobre::comm::topology
