// Who runs where: the hosts of a communicator, the MPI underneath, and the Slurm job around it.
#pragma once

#include <ferrompi/thread_level.hpp>

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace ferrompi {

/// One host and the ranks on it, in ascending order.
struct HostEntry {
  std::string hostname;
  std::vector<int> ranks;

  friend bool operator==(const HostEntry&, const HostEntry&) = default;
};

/// What Slurm told rank 0.
struct SlurmInfo {
  std::string job_id;
  std::optional<std::string> node_list;
  std::optional<int> cpus_per_task;

  friend bool operator==(const SlurmInfo&, const SlurmInfo&) = default;
};

/// A value, the same on every rank. `Communicator::topology()` makes it; printing it gives a report of a few lines.
class TopologyInfo {
 public:
  TopologyInfo(std::vector<HostEntry> hosts, std::string library_version, std::string standard_version,
               ThreadLevel thread_level, std::optional<SlurmInfo> slurm = std::nullopt);

  /// Ordered by their lowest rank.
  [[nodiscard]] const std::vector<HostEntry>& hosts() const noexcept { return hosts_; }
  [[nodiscard]] std::size_t num_hosts() const noexcept { return hosts_.size(); }
  /// All ranks on all hosts.
  [[nodiscard]] int size() const noexcept { return size_; }
  /// Complete, and with some libraries many lines.
  [[nodiscard]] const std::string& library_version() const noexcept { return library_version_; }
  /// The name and number alone, as `Open MPI v4.1.4` and `MPICH 4.0.2`.
  [[nodiscard]] std::string library_name() const;
  /// As `MPI 4.0`.
  [[nodiscard]] const std::string& standard_version() const noexcept { return standard_version_; }
  /// The lowest that any rank was granted.
  [[nodiscard]] ThreadLevel thread_level() const noexcept { return thread_level_; }
  /// Nothing outside of a Slurm job.
  [[nodiscard]] const std::optional<SlurmInfo>& slurm() const noexcept { return slurm_; }

  friend bool operator==(const TopologyInfo&, const TopologyInfo&) = default;

 private:
  std::vector<HostEntry> hosts_;
  std::string library_version_;
  std::string standard_version_;
  ThreadLevel thread_level_;
  std::optional<SlurmInfo> slurm_;
  int size_ = 0;
};

/// The report, without a newline at its end.
[[nodiscard]] std::string to_string(const TopologyInfo& topology);
std::ostream& operator<<(std::ostream& out, const TopologyInfo& topology);

}  // namespace ferrompi
