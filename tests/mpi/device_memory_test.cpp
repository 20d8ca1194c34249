// A GPU's memory given to the mpi backend: refused by each rank for itself, whatever the MPI library could do with it.
// Runs on every rank of a launcher.

#include "support/device_memory.hpp"

#include "ferrompi/mpi_main.hpp"
#include "support/environment.hpp"

namespace {

using namespace cobre::comm;

void expect_refusals() {
  const CommBackend comm(FerrompiBackend(test_mpi().world().native()));
  const test::DeviceMemory device;
  test::expect_device_memory_is_refused(comm, device);
}

TEST(DeviceMemoryOnMpi, IsRefusedByEveryRankAndTheJobGoesOn) {
  expect_refusals();
}

TEST(DeviceMemoryOnMpi, IsRefusedWhereOperationsAreComparedToo) {
  test::ScopedEnvironment environment;
  environment.set("COBRE_COMM_CHECK", "1");
  expect_refusals();
}

}  // namespace
