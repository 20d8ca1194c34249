// What the mpi backend adds to the suite that all backends face. Runs on every rank of a launcher.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

#include "comm/backends/mpi/session.hpp"
#include "ferrompi/mpi_main.hpp"
#include "support/environment.hpp"
#include "support/slurm_job.hpp"

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

TEST(MpiBackend, NamesTheSlurmJobInItsTopology) {
  test::for_each_slurm_job([](const auto& expected) { EXPECT_EQ(backend().topology().slurm, expected); });
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

/// More bytes than an int counts. Only the pages that somebody writes to are there.
class LargeBuffer {
 public:
  LargeBuffer()
      : data_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::runtime_error("no address space");
  }
  LargeBuffer(const LargeBuffer&) = delete;
  LargeBuffer& operator=(const LargeBuffer&) = delete;
  ~LargeBuffer() { munmap(data_, size); }
  [[nodiscard]] std::span<std::uint8_t> bytes() const { return {static_cast<std::uint8_t*>(data_), size}; }

 private:
  static constexpr std::size_t size = (std::size_t{1} << 31) + 64;
  void* data_;
};

/// Three bytes of each rank; on the last rank those of all but the first lie beyond what an int can say.
struct FarParts {
  explicit FarParts(const FerrompiBackend& comm) : counts(comm.size(), 3), displs(comm.size()) {
    const bool far = comm.rank() + 1 == comm.size();
    for (std::size_t r = 1; r < comm.size(); ++r) displs[r] = far ? (std::size_t{1} << 31) + 5 * r : 3 * r;
    if (comm.size() == 1) displs[0] = (std::size_t{1} << 31) + 5;
  }

  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
};

std::vector<std::uint8_t> part_of(std::size_t rank, std::size_t salt) {
  const auto value = static_cast<std::uint8_t>(10 * rank + salt);
  return {value, static_cast<std::uint8_t>(value + 1), static_cast<std::uint8_t>(value + 2)};
}

void expect_parts(const LargeBuffer& buffer, const FarParts& parts, std::size_t salt) {
  for (std::size_t r = 0; r < parts.counts.size(); ++r) {
    const auto found = buffer.bytes().subspan(parts.displs[r], 3);
    EXPECT_EQ(std::vector<std::uint8_t>(found.begin(), found.end()), part_of(r, salt)) << "of rank " << r;
  }
}

TEST(MpiBackend, GathersToPlacesFurtherApartThanAnIntCountsOnOneRankAlone) {
  const auto comm = backend();
  const LargeBuffer buffer;
  const FarParts parts(comm);
  comm.allgatherv(part_of(comm.rank(), 1), buffer.bytes(), parts.counts, parts.displs);
  expect_parts(buffer, parts, 1);
  const auto mine = part_of(comm.rank(), 2);
  std::ranges::copy(mine, buffer.bytes().begin() + static_cast<std::ptrdiff_t>(parts.displs[comm.rank()]));
  comm.allgatherv_inplace(buffer.bytes(), parts.counts, parts.displs);
  expect_parts(buffer, parts, 2);
  const auto send = part_of(comm.rank(), 3);
  comm.iallgatherv(send, buffer.bytes(), parts.counts, parts.displs).wait();
  expect_parts(buffer, parts, 3);
}

TEST(MpiBackend, MovesPartsFromAndToPlacesFurtherApartThanAnIntCounts) {
  const auto comm = backend();
  const LargeBuffer buffer;
  const FarParts parts(comm);
  const std::size_t root = comm.size() - 1;
  comm.gatherv(part_of(comm.rank(), 1), buffer.bytes(), parts.counts, parts.displs, root);
  if (comm.rank() == root) expect_parts(buffer, parts, 1);
  std::vector<std::uint8_t> mine(3);
  comm.scatterv(buffer.bytes(), parts.counts, parts.displs, mine, root);
  EXPECT_EQ(mine, part_of(comm.rank(), 1));

  std::vector<std::uint8_t> sent;
  std::vector<std::size_t> close(comm.size());
  for (std::size_t r = 0; r < comm.size(); ++r) {
    close[r] = sent.size();
    for (const auto byte : part_of(comm.rank(), 4)) sent.push_back(byte);
  }
  comm.alltoallv(sent, parts.counts, close, buffer.bytes(), parts.counts, parts.displs);
  expect_parts(buffer, parts, 4);
}

#ifndef NDEBUG
TEST(MpiThreads, OneOfTwoInTheSameCommunicatorIsRefused) {
  if (test_mpi().thread_level() < ferrompi::ThreadLevel::Multiple) return;  // run once more with --thread-multiple
  const auto comm = backend();
  if (comm.size() == 1) return;  // nobody to wait for
  const auto world = test_mpi().world();
  if (comm.rank() != 0) {
    world.barrier();  // one of rank 0 has been refused, and the other is waiting
    comm.barrier();
    return;
  }
  std::atomic<int> refused{0};
  std::atomic<int> through{0};
  const auto enter = [&] {
    try {
      comm.barrier();
      ++through;
    } catch (const InvalidOperation& error) {
      EXPECT_NE(std::string(error.what()).find("another thread is inside"), std::string::npos) << error.what();
      ++refused;
    }
  };
  std::thread first(enter);
  std::thread second(enter);
  while (refused == 0) std::this_thread::yield();
  EXPECT_EQ(through, 0);
  world.barrier();
  first.join();
  second.join();
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(through, 1);
}
#endif

}  // namespace
