#include "comm/backends/mpi/session.hpp"

#include <cobre/comm/errors.hpp>

#include <mutex>

#include "comm/backends/mpi/announcement.hpp"
#include "comm/core/format.hpp"

namespace cobre::comm::mpi {
namespace {

std::mutex sharing;
std::weak_ptr<ferrompi::Mpi> shared;

}  // namespace

std::shared_ptr<ferrompi::Mpi> share_mpi(ferrompi::ThreadLevel required) {
  const std::scoped_lock lock(sharing);
  if (auto running = shared.lock()) {
    if (running->thread_level() < required) {
      throw InitializationFailed("mpi", core::format("MPI runs at thread level {}, but {} is asked for; ask for the "
                                                     "higher one first",
                                                     to_string(running->thread_level()), to_string(required)));
    }
    return running;
  }
  try {
    auto started = std::make_shared<ferrompi::Mpi>(ferrompi::Mpi::init_thread(required));
    shared = started;
    return started;
  } catch (const ferrompi::AlreadyInitialized& error) {
    std::throw_with_nested(InitializationFailed(
        "mpi", core::format("{}; where the program holds a ferrompi::Mpi of its own, pass its communicator to "
                            "FerrompiBackend::init",
                            error.what())));
  } catch (const ferrompi::Error& error) {
    std::throw_with_nested(InitializationFailed("mpi", error.what()));
  }
}

void require_announced_size(int world_size) {
  const auto other = announcement_of_others_than(world_size);
  if (!other) return;
  throw InitializationFailed(
      "mpi", core::format("the launcher announced {} processes ({}={}), but MPI sees {}; the program is linked with "
                          "another MPI than the one whose launcher started it. Use the launcher that belongs to {}",
                          other->processes, other->variable, other->text, world_size,
                          ferrompi::Mpi::library_version().substr(0, ferrompi::Mpi::library_version().find('\n'))));
}

}  // namespace cobre::comm::mpi
