// Started by an MPI launcher: every rank runs every case, each with a communicator of its own.

#include <gtest/gtest.h>

#include "conformance/conformance.hpp"
#include "conformance/worlds.hpp"
#include "ferrompi/test_main.hpp"

namespace {

struct MpiWorld {
  using Communicator = cobre::comm::FerrompiBackend;
  static std::vector<std::size_t> rank_counts() { return {static_cast<std::size_t>(test::world().size())}; }
  static void run(std::size_t, const std::function<void(const Communicator&)>& body) {
    const cobre::comm::FerrompiBackend comm(test::world().native());
    conformance::guarded(comm.rank(), [&] { body(comm); });
  }
};

}  // namespace
