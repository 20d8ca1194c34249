#include "probe.hpp"

#include <cobre/comm/config.hpp>

#if defined(COBRE_COMM_HAS_SHM) || defined(COBRE_COMM_HAS_TCP)
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cobre/comm/warnings.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include "comm/core/descriptor.hpp"
#include "comm/core/format.hpp"
#endif
#ifdef COBRE_COMM_HAS_SHM
#include <cobre/comm/shm.hpp>
#endif
#ifdef COBRE_COMM_HAS_TCP
#include <cobre/comm/tcp.hpp>

#include "run/ports.hpp"
#include "run/remote.hpp"
#include "run/secret.hpp"
#endif

namespace cobre::command {

#if defined(COBRE_COMM_HAS_SHM) || defined(COBRE_COMM_HAS_TCP)
namespace {

constexpr std::chrono::milliseconds patience{2000};

constexpr char with_single_copy = '1';
constexpr char without = '0';

// What rank 0 found out goes through the pipe: one of the two letters, or words for what went wrong.
template <class Meet>
[[noreturn]] void meet_and_tell(const Meet& meet, std::size_t rank, int answer) {
  comm::set_warning_sink([](std::string_view) {});  // this is no job that somebody could place better
  std::string found;
  try {
    found = meet(rank) ? with_single_copy : without;
  } catch (const std::exception& error) {
    found = error.what();
  }
  if (rank == 0) (void)!write(answer, found.data(), std::min<std::size_t>(found.size(), 4096));
  _exit(0);
}

// Two processes that each `meet`, which tells whether they have single copy, or throws.
template <class Meet>
ShmProbe try_with_two(const Meet& meet) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {{.reason = "no pipe could be made"}};
  const comm::core::Descriptor answer(ends[0]);
  comm::core::Descriptor telling(ends[1]);
  std::array<pid_t, 2> ranks{};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank] = fork();
    if (ranks[rank] == 0) meet_and_tell(meet, rank, telling.get());
    if (ranks[rank] < 0) return {{.reason = "no process could be started"}};
  }
  telling = {};
  std::string found;
  std::array<char, 512> part{};
  for (ssize_t count = 0; (count = read(answer.get(), part.data(), part.size())) > 0;) {
    found.append(part.data(), static_cast<std::size_t>(count));
  }
  for (const pid_t rank : ranks) (void)waitpid(rank, nullptr, 0);
  if (found.size() != 1) return {{.reason = found.empty() ? "the probe died" : found}};
  return {{.works = true}, found.front() == with_single_copy};
}

}  // namespace
#endif

ShmProbe try_shm() {
#ifdef COBRE_COMM_HAS_SHM
  const std::string name = comm::core::format("probe-{}", getpid());
  return try_with_two([&](std::size_t rank) {
    comm::ShmConfig config;
    config.name = name;
    config.rank = rank;
    config.size = 2;
    config.connect_timeout = patience;
    const auto comm = comm::ShmBackend::attach(config);
    comm.barrier();
    return comm.uses_single_copy();
  });
#else
  return {{.reason = "not in this build"}};
#endif
}

Probe try_tcp() {
#ifdef COBRE_COMM_HAS_TCP
  const HeldPort port;
  const std::string coordinator = coordinator_here(port);
  const std::string secret = make_secret();
  auto found = try_with_two([&](std::size_t rank) {
    comm::TcpConfig config;
    config.coordinator = coordinator;
    config.rank = rank;
    config.size = 2;
    config.secret.value = secret;
    config.connect_timeout = patience;
    config.shared_memory = false;  // it is the network that is tried
    comm::TcpBackend::connect(config).barrier();
    return false;
  });
  return {.works = found.works, .reason = std::move(found.reason)};
#else
  return {.reason = "not in this build"};
#endif
}

}  // namespace cobre::command
