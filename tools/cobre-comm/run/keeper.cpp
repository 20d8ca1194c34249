#include "keeper.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace cobre::command {
namespace {

constexpr std::size_t most_groups = 1024;

// No allocation and no library that could hold a lock: this is the child of a fork. Signals stay blocked as the
// launcher has them, and a session of its own keeps it out of what happens to the launcher's group and terminal.
[[noreturn]] void keep(int line) {
  (void)setsid();
  (void)prctl(PR_SET_NAME, "cobre-keeper");
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard <= 2; ++standard) (void)dup2(nowhere, standard);
  if (line != 3) line = dup3(line, 3, O_CLOEXEC);
  (void)close_range(4, ~0U, 0);

  std::array<pid_t, most_groups> groups{};
  std::size_t count = 0;
  for (;;) {
    pid_t group = 0;
    const ssize_t got = read(line, &group, sizeof group);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof group) break;  // the launcher is dead
    if (group == 0) _exit(0);        // the job is over
    if (count < groups.size()) groups[count++] = group;
  }
  // The launcher keeps its dead children as zombies until the job is over, so their numbers were not given away while
  // it lived; between its death and this line there is no time for the kernel to go through all numbers.
  for (std::size_t i = 0; i < count; ++i) (void)kill(-groups[i], SIGKILL);
  _exit(0);
}

}  // namespace

Keeper::Keeper() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  comm::core::Descriptor far(ends[0]);
  line_ = comm::core::Descriptor(ends[1]);
  pid_ = fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) {
    (void)close(line_.get());
    keep(far.get());
  }
}

Keeper::~Keeper() {
  watch(0);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void Keeper::watch(pid_t group) const {
  // Fewer bytes than PIPE_BUF: all of them or none. A keeper that somebody killed is no reason to stop the job.
  while (write(line_.get(), &group, sizeof group) < 0 && errno == EINTR) continue;
}

}  // namespace cobre::command
