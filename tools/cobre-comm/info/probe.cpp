#include "probe.hpp"

#include <cobre/comm/config.hpp>

#ifdef COBRE_COMM_HAS_SHM
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cobre/comm/shm.hpp>
#include <cobre/comm/warnings.hpp>

#include <algorithm>
#include <array>

#include "comm/core/descriptor.hpp"
#include "comm/core/format.hpp"
#endif

namespace cobre::command {

#ifdef COBRE_COMM_HAS_SHM
namespace {

constexpr char with_single_copy = '1';
constexpr char without = '0';

// What rank 0 found out goes through the pipe: one of the two letters, or words for what went wrong.
[[noreturn]] void attach_and_tell(std::size_t rank, pid_t parent, int answer) {
  comm::set_warning_sink([](std::string_view) {});  // this is no job that somebody could place better
  std::string found;
  try {
    comm::ShmConfig config;
    config.name = comm::core::format("probe-{}", parent);
    config.rank = rank;
    config.size = 2;
    config.connect_timeout = std::chrono::milliseconds(2000);
    const auto comm = comm::ShmBackend::attach(config);
    comm.barrier();
    found = comm.uses_single_copy() ? with_single_copy : without;
  } catch (const std::exception& error) {
    found = error.what();
  }
  if (rank == 0) (void)!write(answer, found.data(), std::min<std::size_t>(found.size(), 4096));
  _exit(0);
}

}  // namespace

ShmProbe try_shm() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {.reason = "no pipe could be made"};
  const comm::core::Descriptor answer(ends[0]);
  comm::core::Descriptor telling(ends[1]);
  const pid_t parent = getpid();
  std::array<pid_t, 2> ranks{};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank] = fork();
    if (ranks[rank] == 0) attach_and_tell(rank, parent, telling.get());
    if (ranks[rank] < 0) return {.reason = "no process could be started"};
  }
  telling = {};
  std::string found;
  std::array<char, 512> part{};
  for (ssize_t count = 0; (count = read(answer.get(), part.data(), part.size())) > 0;) {
    found.append(part.data(), static_cast<std::size_t>(count));
  }
  for (const pid_t rank : ranks) (void)waitpid(rank, nullptr, 0);
  if (found.size() != 1) return {.reason = found.empty() ? "the probe died" : found};
  return {.works = true, .single_copy = found.front() == with_single_copy};
}

#else

ShmProbe try_shm() {
  return {.reason = "not in this build"};
}

#endif

}  // namespace cobre::command
