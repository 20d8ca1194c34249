// The lookout is a process of its own beside the launcher, which becomes another program.

#include "lookout.hpp"

#include <cobre/comm/config.hpp>

#ifdef COBRE_COMM_HAS_SHM

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <utility>

#include "comm/backends/shm/peers.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#include "comm/core/descriptor.hpp"
#include "comm/core/format.hpp"
#include "lookout_watch.hpp"
#include "secret.hpp"

namespace cobre::command {
namespace {

using comm::core::Descriptor;
namespace shm = comm::shm;

// Nobody is to wait for the lookout: not the terminal, nor who reads the output.
void stand_aside(const Descriptor& socket, const Descriptor& launcher) {
  (void)setsid();
  (void)prctl(PR_SET_NAME, "cobre-lookout");
  const auto [low, high] = std::minmax({static_cast<unsigned>(socket.get()), static_cast<unsigned>(launcher.get())});
  (void)close_range(STDERR_FILENO + 1, low - 1, 0);
  (void)close_range(low + 1, high - 1, 0);
  (void)close_range(high + 1, ~0U, 0);
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) (void)dup2(nowhere, standard);
  rlimit limit{};  // it holds two descriptors of each rank
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

std::vector<std::string> post_lookout(std::size_t ranks, std::optional<std::chrono::milliseconds> timeout) {
  const auto end = timeout ? std::optional(std::chrono::steady_clock::now() + *timeout) : std::nullopt;
  const std::string name = shm::socket_name("lookout-" + make_secret());
  Descriptor launcher = shm::open_process(getpid());
  Descriptor socket = shm::open_socket();
  if (!launcher || shm::bind_to(socket, name) != 0 || listen(socket.get(), SOMAXCONN) != 0) return {};
  // Two forks: a launcher is not to find a child that it did not start.
  const pid_t between = fork();
  if (between < 0) return {};
  if (between == 0) {
    if (fork() == 0) {
      try {
        stand_aside(socket, launcher);
        watch_ranks(ranks, std::move(socket), std::move(launcher), end, STDERR_FILENO);
      } catch (const std::exception&) {  // then the job goes on unwatched
      }
    }
    _exit(0);
  }
  while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) continue;
  // Through a shell, as this command need not be on every host that the launcher reaches.
  return {"/bin/sh", "-c",
          comm::core::format("test -x \"$0\" && exec \"$0\" run --lookout {} -- \"$@\"; exec \"$@\"", name),
          std::filesystem::read_symlink("/proc/self/exe").string()};
}

}  // namespace cobre::command

#else

namespace cobre::command {

std::vector<std::string> post_lookout(std::size_t /*ranks*/, std::optional<std::chrono::milliseconds> /*timeout*/) {
  return {};
}

}  // namespace cobre::command

#endif
