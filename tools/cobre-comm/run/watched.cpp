// The side of the rank.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/config.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>

#include "comm/core/format.hpp"
#include "comm/core/inherited.hpp"
#include "comm/core/text.hpp"
#include "lookout.hpp"
#include "lookout_call.hpp"
#include "options.hpp"
#include "spawn.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#endif

namespace cobre::command {
namespace {

#ifdef COBRE_COMM_HAS_SHM
// As the launchers of Open MPI and MPICH have it.
std::optional<LookoutCall> own_call() {
  using comm::slurm::detail::number;
  const auto rank = number<std::uint32_t>({"OMPI_COMM_WORLD_RANK", "PMI_RANK"});
  const auto ranks_on_host = number<std::uint32_t>({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
  if (!rank || !ranks_on_host) return std::nullopt;
  return LookoutCall{.rank = *rank, .ranks_on_host = *ranks_on_host};
}

// Other users may crowd at the door. Who waits in the kernel has its turn there; who comes to none goes unwatched.
bool reach(const comm::core::Descriptor& socket, const std::string& lookout) {
  constexpr timeval longest{.tv_sec = 1, .tv_usec = 0};
  (void)setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  (void)fcntl(socket.get(), F_SETFL, 0);
  const bool reached = comm::shm::connect_to(socket, lookout) == 0;
  (void)fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return reached;
}

void call(const std::string& lookout) {
  namespace shm = comm::shm;
  const auto what = own_call();
  const auto process = shm::open_process(getpid());
  const auto socket = shm::open_socket();
  if (!what || !process || !reach(socket, lookout)) return;
  if (!shm::send_message(socket, *what, std::array{process.get()})) return;
  // The program inherits the line: its end tells when the process begins to end. Under a number that nobody counts on
  // being free.
  int line = fcntl(socket.get(), F_DUPFD, 250);
  if (line < 0) line = fcntl(socket.get(), F_DUPFD, STDERR_FILENO + 1);  // fewer are allowed
  if (line >= 0) (void)setenv("COBRE_COMM_LOOKOUT", comm::core::inherited_text(line).c_str(), 1);
}
#endif

}  // namespace

void become_watched([[maybe_unused]] const std::string& lookout, const std::vector<std::string>& command) {
#ifdef COBRE_COMM_HAS_SHM
  try {
    call(lookout);
  } catch (const std::exception&) {  // no socket to be had: then unwatched
  }
#endif
  const auto words = pointers(command);
  (void)execvp(words[0], words.data());
  throw UsageError(
      comm::core::format("cannot execute {}: {}", comm::core::quoted(command.front()), std::strerror(errno)));
}

}  // namespace cobre::command
