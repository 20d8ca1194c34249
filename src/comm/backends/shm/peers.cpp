#include "comm/backends/shm/peers.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "comm/core/format.hpp"

namespace cobre::comm::shm {
namespace {

// The number after `key` in a file of "key: value" lines, or nothing.
std::optional<long> read_field(const std::string& file, std::string_view key) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (!line.starts_with(key)) continue;
    const auto digits = line.find_first_of("-0123456789", key.size());
    long value = 0;
    if (digits == std::string::npos) return std::nullopt;
    if (std::from_chars(line.data() + digits, line.data() + line.size(), value).ec != std::errc{}) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

// A process that nobody has waited for yet: the wait status is the last number of its stat line.
std::optional<int> status_of_zombie(pid_t pid) {
  std::ifstream in(core::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(in, text)) return std::nullopt;
  const auto name_end = text.rfind(')');  // the name itself may hold blanks and brackets
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 2));
  std::string state;
  fields >> state;
  if (state != "Z" && state != "X") return std::nullopt;
  std::string last;
  for (std::string field; fields >> field;) last = field;
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

bool ended(int pidfd) noexcept {
  pollfd entry{.fd = pidfd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) > 0;
}

}  // namespace

ProcessIdentity this_process() {
  struct stat status {};
  (void)stat("/proc/self/ns/pid", &status);
  return {.pid = getpid(), .reserved = 0, .pid_namespace = status.st_ino};
}

core::Descriptor open_this_process() {
  return core::Descriptor(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
}

Peers::Peers(std::vector<core::Descriptor> processes, std::vector<std::size_t> process_of)
    : process_of_(std::move(process_of)) {
  for (auto& process : processes) processes_.push_back(std::make_shared<const core::Descriptor>(std::move(process)));
  for (const std::size_t process : process_of_) {
    Peer peer{.pid = getpid(), .same_process = true};
    if (process != this_one) {
      // A descriptor says which process it is in the reader's own namespace; 0 or -1 where it is not visible there.
      const auto pid = read_field(core::format("/proc/self/fdinfo/{}", processes_[process]->get()), "Pid:");
      peer = {.pid = static_cast<pid_t>(std::max(0L, pid.value_or(0))), .same_process = false};
    }
    peers_.push_back(peer);
  }
}

Peers Peers::part(std::span<const std::size_t> members) const {
  Peers part;
  for (const std::size_t member : members) {
    part.peers_.push_back(peers_[member]);
    if (process_of_[member] == this_one) {
      part.process_of_.push_back(this_one);
      continue;
    }
    const auto& process = processes_[process_of_[member]];
    const auto place = std::ranges::find(part.processes_, process);
    part.process_of_.push_back(static_cast<std::size_t>(place - part.processes_.begin()));
    if (place == part.processes_.end()) part.processes_.push_back(process);
  }
  return part;
}

RankSet Peers::dead() const noexcept {
  std::array<pollfd, largest_group> entries{};
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    entries[i] = {.fd = processes_[i]->get(), .events = POLLIN, .revents = 0};
  }
  RankSet ranks;
  if (processes_.empty() || poll(entries.data(), processes_.size(), 0) <= 0) return ranks;
  for (std::size_t rank = 0; rank < process_of_.size(); ++rank) {
    if (process_of_[rank] != this_one && entries[process_of_[rank]].revents != 0) ranks.set(rank);
  }
  return ranks;
}

bool Peers::alive(std::size_t rank) const noexcept {
  return peers_[rank].same_process || !ended(processes_[process_of_[rank]]->get());
}

FailedPeer Peers::obituary(std::size_t rank) const {
  FailedPeer failed{.rank = rank, .host = {}, .pid = {}, .signal = {}, .exit_code = {}};
  if (peers_[rank].pid != 0) failed.pid = peers_[rank].pid;
  if (peers_[rank].same_process || alive(rank)) return failed;
  const int process = processes_[process_of_[rank]]->get();
  auto status = status_kept_by_kernel(process);
  if (!status) status = status_of_zombie(peers_[rank].pid);
  if (!status) status = status_kept_by_kernel(process);  // its parent came between the two
  if (!status) return failed;
  const int value = *status;
  if (WIFSIGNALED(value)) failed.signal = WTERMSIG(value);
  if (WIFEXITED(value)) failed.exit_code = WEXITSTATUS(value);
  return failed;
}

void Peers::signal_all(int signal) const noexcept {
  for (const auto& process : processes_) (void)syscall(SYS_pidfd_send_signal, process->get(), signal, nullptr, 0);
}

}  // namespace cobre::comm::shm
