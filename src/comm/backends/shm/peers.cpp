#include "comm/backends/shm/peers.hpp"

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
#include <string>

#include "comm/backends/shm/obituary.hpp"
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

}  // namespace

ProcessIdentity this_process() {
  struct stat status {};
  (void)stat("/proc/self/ns/pid", &status);
  return {.pid = getpid(), .reserved = 0, .pid_namespace = status.st_ino};
}

core::Descriptor open_process(pid_t pid) {
  return core::Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
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
  return peers_[rank].same_process || !has_ended(processes_[process_of_[rank]]->get());
}

FailedPeer Peers::obituary(std::size_t rank) const {
  FailedPeer failed{.rank = rank, .host = {}, .pid = {}, .signal = {}, .exit_code = {}};
  if (peers_[rank].pid != 0) failed.pid = peers_[rank].pid;
  if (peers_[rank].same_process || alive(rank)) return failed;
  const int process = processes_[process_of_[rank]]->get();
  const auto status = status_of_ended(process, peers_[rank].pid);
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
