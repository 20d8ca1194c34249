// What MPI refuses in the middle of an operation reaches the program with the numbers of its call, and is the last that
// its communicator does. Runs on every rank of a launcher.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <numeric>
#include <optional>

#include "ferrompi/mpi_main.hpp"
#include "support/outcome.hpp"

namespace {

int refusal = MPI_SUCCESS;  // what MPI answers, on every rank alike

template <class Function, class... Args>
int answer(Function function, Args... args) {
  return refusal != MPI_SUCCESS ? refusal : function(args...);
}

}  // namespace

// Before the library's own. Parts of different lengths go by the last ones, whichever this MPI has and fits the
// lengths.
extern "C" {
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return answer(PMPI_Bcast, buffer, count, type, root, comm);
}
int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return answer(PMPI_Allreduce, send, recv, count, type, op, comm);
}
int MPI_Alltoallw(const void* send, const int* counts, const int* displs, const MPI_Datatype* types, void* recv,
                  const int* recvcounts, const int* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm) {
  return answer(PMPI_Alltoallw, send, counts, displs, types, recv, recvcounts, rdispls, recvtypes, comm);
}
int MPI_Gatherv(const void* send, int count, MPI_Datatype type, void* recv, const int* counts, const int* displs,
                MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return answer(PMPI_Gatherv, send, count, type, recv, counts, displs, recvtype, root, comm);
}
int MPI_Scatterv(const void* send, const int* counts, const int* displs, MPI_Datatype type, void* recv, int count,
                 MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return answer(PMPI_Scatterv, send, counts, displs, type, recv, count, recvtype, root, comm);
}
int MPI_Alltoallv(const void* send, const int* counts, const int* displs, MPI_Datatype type, void* recv,
                  const int* recvcounts, const int* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
  return answer(PMPI_Alltoallv, send, counts, displs, type, recv, recvcounts, rdispls, recvtype, comm);
}
#if MPI_VERSION >= 4
int MPI_Gatherv_c(const void* send, MPI_Count count, MPI_Datatype type, void* recv, const MPI_Count* counts,
                  const MPI_Aint* displs, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return answer(PMPI_Gatherv_c, send, count, type, recv, counts, displs, recvtype, root, comm);
}
int MPI_Scatterv_c(const void* send, const MPI_Count* counts, const MPI_Aint* displs, MPI_Datatype type, void* recv,
                   MPI_Count count, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  return answer(PMPI_Scatterv_c, send, counts, displs, type, recv, count, recvtype, root, comm);
}
int MPI_Alltoallv_c(const void* send, const MPI_Count* counts, const MPI_Aint* displs, MPI_Datatype type, void* recv,
                    const MPI_Count* recvcounts, const MPI_Aint* rdispls, MPI_Datatype recvtype, MPI_Comm comm) {
  return answer(PMPI_Alltoallv_c, send, counts, displs, type, recv, recvcounts, rdispls, recvtype, comm);
}
#endif
}

namespace {

using namespace cobre::comm;

/// What `operation` throws where MPI answers `code`; nothing is done with the communicator after that.
template <class Expected>
Expected refused(int code, const std::function<void(const FerrompiBackend&)>& operation) {
  const FerrompiBackend comm(test_mpi().world().native());
  const auto region = comm.create_shared_region<int>(1);
  const auto to_self = comm.channel(comm.rank(), 1);
  const auto to_next = comm.channel((comm.rank() + 1) % comm.size(), 1);
  std::array<int, 1> received{};
  auto receiving = to_next.irecv(received);
  std::optional<Expected> caught;
  refusal = code;
  try {
    operation(comm);
  } catch (const Expected& error) {
    caught = error;
  }
  refusal = MPI_SUCCESS;
  EXPECT_EQ(test::outcome_of([&] { comm.barrier(); }), "InvalidCommunicator");
  EXPECT_EQ(test::outcome_of([&] { (void)comm.split_local(); }), "InvalidCommunicator");
  EXPECT_EQ(test::outcome_of([&] { (void)comm.create_shared_region<int>(1); }), "InvalidCommunicator");
  EXPECT_EQ(test::outcome_of([&] { region.fence(); }), "InvalidCommunicator");
  for (const auto* const channel : {&to_self, &to_next}) {
    EXPECT_EQ(test::outcome_of([&] { channel->send(1); }), "InvalidCommunicator");
    EXPECT_EQ(test::outcome_of([&] { (void)channel->isend(std::array{1}); }), "InvalidCommunicator");
    EXPECT_EQ(test::outcome_of([&] { (void)channel->template recv<int>(); }), "InvalidCommunicator");
    EXPECT_EQ(test::outcome_of([&] { (void)channel->template try_recv<int>(); }), "InvalidCommunicator");
  }
  EXPECT_EQ(test::outcome_of([&] { receiving.wait(); }), "InvalidCommunicator");
  EXPECT_EQ(test::outcome_of([&] { (void)receiving.test(); }), "InvalidCommunicator");
  return caught.value();
}

std::vector<std::size_t> offsets_of(const std::vector<std::size_t>& counts) {
  std::vector<std::size_t> displs(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), std::size_t{0});
  return displs;
}

void expect_lengths(const InvalidBufferSize& error, const char* operation, std::size_t count, std::size_t size) {
  EXPECT_EQ(error.operation(), operation);
  EXPECT_EQ(error.expected(), count);
  EXPECT_EQ(error.actual(), count);
  const std::string numbers = std::to_string(count) + " elements, " + std::to_string(count * size) + " bytes";
  EXPECT_NE(std::string(error.what()).find(numbers), std::string::npos) << error.what();
}

TEST(RefusedByMpi, ARootIsInvalidRootWithTheNumbersOfTheCall) {
  std::size_t root = 0;
  const auto error = refused<InvalidRoot>(MPI_ERR_ROOT, [&](const auto& comm) {
    root = comm.size() - 1;
    (void)comm.broadcast(1, root);
  });
  EXPECT_EQ(error.operation(), "broadcast");
  EXPECT_EQ(error.root(), root);
  EXPECT_EQ(error.size(), root + 1);
}

TEST(RefusedByMpi, ACountIsInvalidBufferSizeWithTheNumbersOfTheCall) {
  expect_lengths(refused<InvalidBufferSize>(MPI_ERR_COUNT,
                                            [](const auto& comm) {
                                              std::vector<double> data(3);
                                              comm.allreduce_inplace(data, ReduceOp::Sum);
                                            }),
                 "allreduce", 3, sizeof(double));
}

TEST(RefusedByMpi, PartsThatOnlyPairsOfRanksKnowAreNamedWithTheirLengths) {
  const auto rank = static_cast<std::size_t>(test_mpi().world().rank());
  const auto ranks = static_cast<std::size_t>(test_mpi().world().size());
  std::vector<std::size_t> counts(ranks);
  std::iota(counts.begin(), counts.end(), std::size_t{2});
  const auto displs = offsets_of(counts);
  const std::size_t total = displs.back() + counts.back();
  std::vector<double> whole(total), part(counts[rank]);
  expect_lengths(refused<InvalidBufferSize>(MPI_ERR_BUFFER,
                                            [&](const auto& comm) { comm.gatherv(part, whole, counts, displs, 0); }),
                 "gatherv", counts[rank], sizeof(double));
  expect_lengths(refused<InvalidBufferSize>(MPI_ERR_BUFFER,
                                            [&](const auto& comm) { comm.scatterv(whole, counts, displs, part, 0); }),
                 "scatterv", counts[rank], sizeof(double));
  const std::vector<std::size_t> received(ranks, counts[rank]);
  std::vector<double> all(ranks * counts[rank]);
  expect_lengths(
      refused<InvalidBufferSize>(
          MPI_ERR_COUNT,
          [&](const auto& comm) { comm.alltoallv(whole, counts, displs, all, received, offsets_of(received)); }),
      "alltoallv", total, sizeof(double));
}

TEST(RefusedByMpi, MemoryIsAllocationFailedWithTheBytesOfTheCall) {
  const auto broadcast = refused<AllocationFailed>(MPI_ERR_NO_MEM, [](const auto& comm) {
    std::vector<double> data(5);
    comm.broadcast(data, 0);
  });
  EXPECT_EQ(broadcast.requested_bytes(), 5 * sizeof(double));
  const auto region = refused<AllocationFailed>(
      MPI_ERR_NO_MEM, [](const auto& comm) { (void)comm.template create_shared_region<double>(7); });
  EXPECT_EQ(region.operation(), "create_shared_region");
  EXPECT_EQ(region.requested_bytes(), 7 * sizeof(double));
}

TEST(RefusedByMpi, OtherReasonsKeepTheirCode) {
  const auto reduce = [](const auto& comm) { (void)comm.allreduce(1, ReduceOp::Sum); };
  EXPECT_EQ(refused<CollectiveFailed>(MPI_ERR_OTHER, reduce).code(), MPI_ERR_OTHER);
  EXPECT_EQ(refused<CollectiveFailed>(MPI_ERR_INTERN, reduce).code(), MPI_ERR_INTERN);
  EXPECT_EQ(refused<InvalidOperation>(MPI_ERR_OP, reduce).operation(), "allreduce");
  EXPECT_EQ(refused<InvalidCommunicator>(MPI_ERR_COMM, reduce).operation(), "allreduce");
}

}  // namespace
