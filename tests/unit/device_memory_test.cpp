// A GPU's memory given to a backend. There is no GPU here: a library of the test's own plays the driver, and memory
// that ends the process when it is touched plays the GPU's.

#include <dlfcn.h>
#include <sys/mman.h>

#include "fault/on_backends.hpp"
#include "unit/cuda_driver_stand_in.hpp"

namespace {

using namespace cobre::comm;

class DeviceMemory {
 public:
  explicit DeviceMemory(bool managed = false)
      : data_(mmap(nullptr, bytes, managed ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    void* const driver = dlopen(COBRE_TEST_CUDA_DRIVER, RTLD_NOW);
    if (driver == nullptr) throw std::runtime_error(dlerror());
    const ClaimedMemory memory{data_, bytes, managed};
    reinterpret_cast<decltype(&claim_for_device)>(dlsym(driver, "claim_for_device"))(&memory);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { munmap(data_, bytes); }

  [[nodiscard]] std::span<double> elements(std::size_t count = 2) const { return {static_cast<double*>(data_), count}; }

 private:
  static constexpr std::size_t bytes = 1 << 16;
  void* data_;
};

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidOperation& error) {
    return std::string(error.operation());
  } catch (const std::exception& error) {
    return std::string("another exception: ") + error.what();
  }
  return "accepted";
}

/// Every way in which a buffer comes to a backend, by the name of the operation that refuses it.
void expect_refusals(const CommBackend& comm, std::span<double> device) {
  std::vector<double> two(2);
  std::vector<double> all(2 * comm.size());
  const std::vector<std::size_t> twos(comm.size(), 2);
  std::vector<std::size_t> places;
  for (std::size_t rank = 0; rank < comm.size(); ++rank) places.push_back(2 * rank);
  const std::size_t self = comm.rank();
  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"broadcast", [&] { comm.broadcast(device, 0); }},
      {"allreduce", [&] { comm.allreduce(device, two, ReduceOp::Sum); }},
      {"allreduce", [&] { comm.allreduce(two, device, ReduceOp::Sum); }},
      {"allreduce_inplace", [&] { comm.allreduce_inplace(device, ReduceOp::Sum); }},
      {"allgatherv", [&] { comm.allgatherv(device, all, twos, places); }},
      {"gather", [&] { comm.gather(device, all, 0); }},
      {"scatter", [&] { comm.scatter(all, device, 0); }},
      {"scan", [&] { comm.scan(device, two, ReduceOp::Sum); }},
      {"broadcast", [&] { (void)comm.ibroadcast(device, 0); }},
      {"allreduce", [&] { (void)comm.allreduce_init(device, two, ReduceOp::Sum); }},
      {"send", [&] { comm.send(device, self); }},
      {"irecv", [&] { (void)comm.channel(self, 1).irecv(device); }}};
  for (const auto& [operation, call] : calls) EXPECT_EQ(refusal_of(call), operation);
  EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(comm.size()));
}

TEST(DeviceMemory, IsRefusedByEveryOperation) {
  const DeviceMemory device;
  expect_refusals(CommBackend(LocalBackend()), device.elements());
}

TEST(DeviceMemory, OfADriverThatIsLoadedAfterTheFirstOperationsIsRefusedToo) {
  const CommBackend comm{LocalBackend()};
  std::vector<double> send(3, 1.0);
  std::vector<double> recv(3);
  for (int i = 0; i < 10; ++i) comm.allreduce(send, recv, ReduceOp::Sum);
  const DeviceMemory device;
  expect_refusals(comm, device.elements());
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
    expect_refusals(comm, device.elements());
    return testing::Test::HasFailure() ? "not refused" : "refused";
  });
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "refused");
}

#endif

}  // namespace
