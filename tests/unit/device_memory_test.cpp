// A GPU's memory given to a backend. `tests/mpi` has the same for mpi.

#include "support/device_memory.hpp"

#include "fault/on_backends.hpp"

namespace {

using namespace cobre::comm;

using test::DeviceMemory;
using test::expect_device_memory_is_refused;

TEST(DeviceMemory, IsRefusedByEveryOperation) {
  const DeviceMemory device;
  expect_device_memory_is_refused(CommBackend(LocalBackend()), device);
}

TEST(DeviceMemory, OfADriverThatIsLoadedAfterTheFirstOperationsIsRefusedToo) {
  const CommBackend comm{LocalBackend()};
  std::vector<double> send(3, 1.0);
  std::vector<double> recv(3);
  for (int i = 0; i < 10; ++i) comm.allreduce(send, recv, ReduceOp::Sum);
  const DeviceMemory device;
  expect_device_memory_is_refused(comm, device);
  comm.allreduce(send, recv, ReduceOp::Sum);
  EXPECT_EQ(recv, send);
}

TEST(DeviceMemory, IsNamedByItsAddressAndTheRemedy) {
  const DeviceMemory device;
  try {
    LocalBackend().allreduce_inplace(device.elements(3), ReduceOp::Sum);
    ADD_FAILURE();
  } catch (const InvalidOperation& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("allreduce_inplace on rank 0 of 1: the 24 bytes at 0x")) << text;
    EXPECT_TRUE(
        text.ends_with("lie in the memory of a GPU, which no backend reads; copy them to the host first "
                       "(cudaMemcpy), or allocate them as managed memory"))
        << text;
  }
}

TEST(DeviceMemory, OfNoElementsIsNotTouchedAndTaken) {
  const DeviceMemory device;
  LocalBackend().broadcast(device.elements(0), 0);
}

TEST(DeviceMemory, ThatTheHostReadsTooIsTaken) {
  const DeviceMemory managed(true);
  std::vector<double> recv(2);
  managed.elements()[1] = 4.5;
  LocalBackend().allreduce(managed.elements(), recv, ReduceOp::Sum);
  EXPECT_EQ(recv[1], 4.5);
}

TEST(DeviceMemory, IsNotLookedForAgainWhereNoDriverIs) {
  std::vector<double> buffer(3);
  LocalBackend().allreduce_inplace(buffer, ReduceOp::Sum);
  const void* const loaded = dlopen(COBRE_TEST_CUDA_DRIVER, RTLD_NOW | RTLD_NOLOAD);
  EXPECT_EQ(detail::is_known_to_be_on_host(buffer.data()), loaded == nullptr);
  EXPECT_FALSE(detail::is_known_to_be_on_host(nullptr));
}

#if defined(COBRE_COMM_HAS_SHM) || defined(COBRE_COMM_HAS_TCP)

class DeviceMemoryOnBackends : public fault::OnBackends {};
INSTANTIATE_TEST_SUITE_P(Everywhere, DeviceMemoryOnBackends, testing::ValuesIn(fault::backends()), fault::name_of);

TEST_P(DeviceMemoryOnBackends, IsRefusedByEveryRankAndTheJobGoesOn) {
  auto ranks = start(2, [](const CommBackend& comm) -> std::string {
    const DeviceMemory device;
    expect_device_memory_is_refused(comm, device);
    return testing::Test::HasFailure() ? "not refused" : "refused";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "refused");
}

#endif

}  // namespace
