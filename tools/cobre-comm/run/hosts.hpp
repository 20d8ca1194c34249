// The hosts of a job, and how many ranks go to each.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cobre::command {

struct HostShare {
  std::string name;
  std::size_t ranks = 1;

  friend bool operator==(const HostShare&, const HostShare&) = default;
};

/// "a:4,b:4", "a,b", "[fe80::1]:2". Throws UsageError.
[[nodiscard]] std::vector<HostShare> parse_hosts(std::string_view list);

/// One host a line, as other launchers have them: "a", "a:4", "a slots=4"; what follows a # is not read.
[[nodiscard]] std::vector<HostShare> parse_hostfile(std::string_view text);
[[nodiscard]] std::vector<HostShare> read_hostfile(const std::string& file);

/// As many of the places as the job has ranks, in order; all of them where that is not said.
[[nodiscard]] std::vector<HostShare> fill(std::vector<HostShare> hosts, std::optional<std::size_t> ranks);

}  // namespace cobre::command
