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

class CheckedMpi : public testing::Test {
 protected:
  CheckedMpi() {
    environment_.set("COBRE_COMM_CHECK", "1");
    environment_.set("COBRE_COMM_TIMEOUT_SECS", "1");
  }
  test::ScopedEnvironment environment_;

  /// Runs the one call on rank 0 and the other elsewhere, and expects every rank to hear what differs.
  template <class A, class B>
  void expect_mismatch(const std::string& field, A&& on_rank_0, B&& elsewhere) {
    const auto comm = backend();
    if (comm.size() == 1) return;
    try {
      comm.rank() == 0 ? on_rank_0(comm) : elsewhere(comm);
      ADD_FAILURE() << "no mismatch in " << field;
    } catch (const CollectiveMismatch& error) {
      EXPECT_EQ(error.field(), field) << error.what();
      EXPECT_EQ(error.ranks(), comm.size() == 2 ? (std::vector<std::size_t>{0, 1}) : std::vector<std::size_t>{0});
    }
    EXPECT_THROW(comm.barrier(), InvalidCommunicator);
  }
};

TEST_F(CheckedMpi, WorksWhereAllAgree) {
  const auto comm = backend();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(comm.allreduce(i, ReduceOp::Max), i);
}

TEST_F(CheckedMpi, FindsDifferentOperations) {
  expect_mismatch(
      "operation", [](const auto& comm) { comm.barrier(); },
      [](const auto& comm) { (void)comm.allreduce(1, ReduceOp::Sum); });
}

TEST_F(CheckedMpi, FindsDifferentReductions) {
  expect_mismatch(
      "op", [](const auto& comm) { (void)comm.allreduce(1, ReduceOp::Min); },
      [](const auto& comm) { (void)comm.allreduce(1, ReduceOp::Sum); });
}

TEST_F(CheckedMpi, FindsDifferentTypes) {
  expect_mismatch(
      "type", [](const auto& comm) { (void)comm.allreduce(1.0, ReduceOp::Sum); },
      [](const auto& comm) { (void)comm.allreduce(1, ReduceOp::Sum); });
}

TEST_F(CheckedMpi, FindsDifferentCounts) {
  const auto reduce = [](std::size_t count) {
    return [count](const auto& comm) {
      std::vector<double> buffer(count);
      comm.allreduce_inplace(buffer, ReduceOp::Sum);
    };
  };
  expect_mismatch("count", reduce(3), reduce(4));
}

TEST_F(CheckedMpi, FindsDifferentRoots) {
  const auto broadcast = [](std::size_t root) { return [root](const auto& comm) { (void)comm.broadcast(1, root); }; };
  expect_mismatch("root", broadcast(0), broadcast(1));
}

TEST_F(CheckedMpi, FindsDifferentCountsOfAGather) {
  const auto gather = [](std::size_t last) {
    return [last](const auto& comm) {
      std::vector<std::size_t> counts(comm.size(), 1);
      counts.back() = last;
      std::vector<std::size_t> displs(comm.size());
      for (std::size_t r = 0; r < displs.size(); ++r) displs[r] = r;
      std::vector<double> recv(comm.size() + 2);
      comm.allgatherv(std::vector<double>(counts[comm.rank()]), recv, counts, displs);
    };
  };
  expect_mismatch("counts", gather(2), gather(1));
}

TEST_F(CheckedMpi, NamesTheRankThatDoesNotCome) {
  const auto comm = backend();
  if (comm.size() > 1) {
    if (comm.rank() != 0) {
      try {
        comm.barrier();
        ADD_FAILURE();
      } catch (const TimedOut& error) {
        EXPECT_EQ(error.missing_ranks(), std::vector<std::size_t>{0});
        EXPECT_GE(error.waited_seconds(), 1.0);
      }
    }
    test_mpi().world().barrier();
  }
}

}  // namespace
