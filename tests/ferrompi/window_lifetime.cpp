// Ends of a window that no test inside of one process can show: after MPI is gone, and by an exception.
#include <ferrompi/ferrompi.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string_view>

using ferrompi::LockType;
using ferrompi::SharedWindow;

namespace {

int outlive_mpi() {
  std::optional<SharedWindow<double>> window;
  std::optional<ferrompi::LockAllGuard<double>> guard;
  std::optional<ferrompi::Info> info;
  {
    auto mpi = ferrompi::Mpi::init();
    const auto world = mpi.world();
    window = SharedWindow<double>::allocate(world, 4);
    window->fence();
    guard.emplace(window->lock_all());
    info.emplace();
    info->set("key", "value");
    mpi.finalize();  // ends the lock and frees the window, as MPI wants it
  }
  if (!window->local().empty()) return EXIT_FAILURE;  // the memory is gone
  try {
    window->fence();
    return EXIT_FAILURE;
  } catch (const ferrompi::MpiError& error) {
    std::printf("refused: %s\n", error.what());
  }
  try {
    guard->flush_all();
    return EXIT_FAILURE;
  } catch (const ferrompi::MpiError& error) {
    std::printf("refused: %s\n", error.what());
  }
  try {
    info->set("key", "another");
    return EXIT_FAILURE;
  } catch (const ferrompi::MpiError& error) {
    std::printf("refused: %s\n", error.what());
  }
  return EXIT_SUCCESS;  // and the destructors have nothing left to do
}

int throw_on_one_rank() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  try {
    auto window = SharedWindow<double>::allocate(world, 4);
    if (world.rank() == world.size() - 1) throw std::runtime_error("the reservoir is empty");
    window.fence();  // waits for a rank that will not come
  } catch (const std::exception& error) {
    // Whatever is done here, the job ends: the other ranks wait for the window to be freed.
    std::fprintf(stderr, "caught: %s\n", error.what());
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "outlive") return outlive_mpi();
  if (what == "throw") return throw_on_one_rank();
  std::fprintf(stderr, "usage: %s outlive|throw\n", argv[0]);
  return EXIT_FAILURE;
}
