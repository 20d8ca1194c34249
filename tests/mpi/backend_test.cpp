// What the mpi backend adds to the suite that all backends face. Runs on every rank of a launcher.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include "comm/backends/mpi/session.hpp"
#include "ferrompi/mpi_main.hpp"
#include "unit/environment.hpp"

namespace {

using namespace cobre::comm;

FerrompiBackend backend() {
  return FerrompiBackend(test_mpi().world().native());
}

TEST(MpiBackend, LeavesTheErrorHandlerOfAGivenCommunicatorAlone) {
  MPI_Comm given = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &given);
  MPI_Comm_set_errhandler(given, MPI_ERRORS_ARE_FATAL);
  {
    const FerrompiBackend comm(given);
    EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
    EXPECT_NE(comm.native(), given);
  }
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(given, &handler);
  EXPECT_EQ(handler, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&given);
}

TEST(MpiBackend, RegionsAndNodeRanksMayOutliveIt) {
  std::unique_ptr<LocalCommunicator> node;
  std::optional<FerrompiRegion<double>> region;
  {
    const auto comm = backend();
    node = comm.split_local();
    region.emplace(comm.create_shared_region<double>(10));
    if (comm.is_leader()) region->as_mut_span()[3] = 4.5;
  }
  region->fence();
  EXPECT_EQ(region->as_span()[3], 4.5);
  node->barrier();
  region->fence();
}

TEST(MpiBackend, NamesTheLibraryAndTheThreadLevelInItsTopology) {
  const auto comm = backend();
  const auto& topology = comm.topology();
  ASSERT_TRUE(topology.mpi);
  EXPECT_EQ(topology.backend, BackendKind::Mpi);
  EXPECT_TRUE(topology.mpi->library_version.starts_with("Open MPI v") ||
              topology.mpi->library_version.starts_with("MPICH "))
      << topology.mpi->library_version;
  EXPECT_EQ(topology.mpi->library_version.find_first_of("\n,"), std::string::npos);
  EXPECT_TRUE(topology.mpi->standard_version.starts_with("MPI "));
  EXPECT_FALSE(topology.mpi->thread_level.empty());
}

TEST(MpiBackend, IsRefusedWhereTheProgramHoldsMpiItself) {
  try {
    (void)FerrompiBackend::init();
    ADD_FAILURE();
  } catch (const InitializationFailed& error) {
    EXPECT_EQ(error.backend(), "mpi");
    EXPECT_NE(std::string(error.what()).find("pass its communicator to FerrompiBackend::init"), std::string::npos);
  }
}

TEST(MpiBackend, RefusesAWorldThatIsNotTheOneAnnounced) {
  test::ScopedEnvironment environment;
  environment.unset("PMI_SIZE");
  environment.unset("OMPI_COMM_WORLD_SIZE");
  mpi::require_announced_size(1);
  environment.set("OMPI_COMM_WORLD_SIZE", "4");
  mpi::require_announced_size(4);
  try {
    mpi::require_announced_size(1);
    ADD_FAILURE();
  } catch (const InitializationFailed& error) {
    EXPECT_NE(
        std::string(error.what()).find("the launcher announced 4 processes (OMPI_COMM_WORLD_SIZE=4), but MPI sees 1"),
        std::string::npos)
        << error.what();
  }
}

TEST(MpiBackend, RefusesARegionWhoseLengthDiffersBetweenRanks) {
  const auto comm = backend();
  if (comm.size() == 1) return;
  const std::size_t count = comm.rank() == 0 ? 10 : 11;
  try {
    (void)comm.create_shared_region<double>(count);
    ADD_FAILURE();
  } catch (const CollectiveMismatch& error) {
    EXPECT_EQ(error.field(), "count");
    EXPECT_NE(std::string(error.what()).find("others for 10 to 11"), std::string::npos) << error.what();
  }
}

}  // namespace
