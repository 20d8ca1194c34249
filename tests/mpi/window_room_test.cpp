// Regions where the MPI library has little room for its windows. Runs on two ranks, in surroundings that CMakeLists.txt
// makes; COBRE_TEST_DIRECTORY is where the library puts windows there.

#include <cobre/comm/mpi.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ferrompi/mpi_main.hpp"

namespace {

using cobre::comm::FerrompiBackend;
using cobre::comm::ReduceOp;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

void expect_region(const FerrompiBackend& comm, std::size_t bytes) {
  auto region = comm.create_shared_region<std::byte>(bytes);
  if (comm.is_leader()) region.as_mut_span().back() = std::byte{9};
  region.fence();
  EXPECT_EQ(region.as_span().back(), std::byte{9});
}

TEST(WindowRoom, ThatDoesNotDoIsAllocationFailedOnEveryRankAndTheCommunicatorAsGoodAsBefore) {
  const FerrompiBackend comm(test_mpi().world().native());
  try {
    (void)comm.create_shared_region<std::byte>(100 * mebibyte);
    ADD_FAILURE() << "a region that does not fit";
  } catch (const cobre::comm::AllocationFailed& error) {
    EXPECT_EQ(error.requested_bytes(), 100 * mebibyte);
    const std::string place = std::string(" bytes of shared memory left in ") + std::getenv("COBRE_TEST_DIRECTORY");
    EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what();
  }
  EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
  expect_region(comm, mebibyte);
}

TEST(WindowRoom, ThatDoesIsTaken) {
  const FerrompiBackend comm(test_mpi().world().native());
  expect_region(comm, 100 * mebibyte);
}

}  // namespace
