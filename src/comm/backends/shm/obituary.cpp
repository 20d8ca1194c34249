#include "comm/backends/shm/obituary.hpp"

#include <poll.h>
#include <sys/ioctl.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "comm/core/format.hpp"

namespace cobre::comm::shm {
namespace {

// A process that nobody has waited for yet: the wait status is the last number of its stat line, as soon as it is past
// the point where it becomes one that ends.
std::optional<int> status_of_unclaimed(pid_t pid) {
  std::ifstream in(core::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  const auto name_end = text.rfind(')');  // the name itself may hold blanks and brackets
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 2));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  constexpr std::size_t flags = 6;  // proc(5) counts from 3 here
  constexpr std::uint64_t exiting = 4;
  if (fields.size() <= flags) return std::nullopt;
  const bool is_zombie = fields[0] == "Z" || fields[0] == "X";
  if (!is_zombie && (std::strtoull(fields[flags].c_str(), nullptr, 10) & exiting) == 0) return std::nullopt;
  const std::string& last = fields.back();
  int status = 0;
  if (std::from_chars(last.data(), last.data() + last.size(), status).ec != std::errc{}) return std::nullopt;
  return status;
}

// A process that was waited for: newer kernels (6.15) keep the status with the descriptor.
std::optional<int> status_kept_by_kernel(int pidfd) {
  struct Info {
    std::uint64_t mask;
    std::uint64_t cgroup;
    std::array<std::uint32_t, 11> ids;
    std::int32_t exit_code;
  };
  static_assert(sizeof(Info) == 64);
  constexpr std::uint64_t exit_wanted = 1U << 3;
  Info info{};
  info.mask = exit_wanted;
  if (ioctl(pidfd, _IOWR(0xFF, 11, Info), &info) != 0 || (info.mask & exit_wanted) == 0) return std::nullopt;
  return info.exit_code;
}

}  // namespace

bool has_ended(int pidfd) noexcept {
  pollfd entry{.fd = pidfd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) > 0;
}

std::optional<int> status_of_ended(int pidfd, pid_t pid) {
  auto status = status_kept_by_kernel(pidfd);
  if (!status) status = status_of_unclaimed(pid);
  if (!status) status = status_kept_by_kernel(pidfd);  // its parent came between the two
  return status;
}

}  // namespace cobre::comm::shm
