#include "comm/topology/host.hpp"

#include <cobre/comm/base/slurm.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "comm/core/hash.hpp"

namespace cobre::comm::topology {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::uint64_t host_identity() {
  std::string text = host_name();
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  if (std::getline(in, boot)) text += '\n' + boot;
  struct stat network {};  // one kernel may carry several hosts, which have networks or names of their own
  if (stat("/proc/self/ns/net", &network) == 0) text += '\n' + std::to_string(network.st_ino);
  return core::hash(text);
}

std::optional<SlurmJobInfo> slurm_job() {
  const auto job = slurm::job_id();
  if (!job) return std::nullopt;
  SlurmJobInfo info{*job, slurm::node_list(), std::nullopt};
  if (const auto cpus = slurm::cpus_per_task()) info.cpus_per_task = static_cast<unsigned>(*cpus);
  return info;
}

}  // namespace cobre::comm::topology
