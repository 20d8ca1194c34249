// Ends of a window that no test inside of one process can show: after MPI is gone, and by an exception.
#include <ferrompi/ferrompi.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string_view>

using ferrompi::LockType;
using ferrompi::SharedWindow;

namespace {

template <class Call>
bool is_refused(Call call) {
  try {
    call();
  } catch (const ferrompi::MpiError& error) {
    std::printf("refused: %s\n", error.what());
    return true;
  }
  return false;
}

int outlive_mpi() {
  std::optional<SharedWindow<double>> window;
  std::optional<ferrompi::LockAllGuard<double>> guard;
  std::optional<ferrompi::WindowTarget<double>> target;
  std::optional<ferrompi::Info> info;
  {
    auto mpi = ferrompi::Mpi::init();
    const auto world = mpi.world();
    window = SharedWindow<double>::allocate(world, 4);
    window->fence();
    guard.emplace(window->lock_all());
    target = guard->target(0);
    info.emplace();
    info->set("key", "value");
    mpi.finalize();  // ends the lock and frees the window, as MPI wants it
  }
  if (!window->local().empty()) return EXIT_FAILURE;  // the memory is gone
  const std::array<double, 1> value{};
  const bool all_refused = is_refused([&] { window->fence(); }) && is_refused([&] { (void)window->lock_all(); }) &&
                           is_refused([&] { guard->flush_all(); }) && is_refused([&] { target->put(value); }) &&
                           is_refused([&] { (void)target->fetch_op(1.0, ferrompi::ReduceOp::Sum); }) &&
                           is_refused([&] { info->set("key", "another"); });
  return all_refused ? EXIT_SUCCESS : EXIT_FAILURE;  // and the destructors have nothing left to do
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
