// A GPU's memory for tests. There is no GPU here: a library of the tests' own plays the driver, and memory that ends
// the process when it is touched plays the GPU's.
#pragma once

#include <cobre/comm.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/cuda_driver_stand_in.hpp"

namespace test {

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

/// Every way in which a buffer comes to a backend, by the name of the operation that refuses it. Nobody else hears of
/// it.
inline void expect_device_memory_is_refused(const cobre::comm::CommBackend& comm, const DeviceMemory& memory) {
  using cobre::comm::ReduceOp;
  const std::size_t size = comm.size();
  const std::size_t self = comm.rank();
  const auto device = memory.elements();
  const auto device_of_all = memory.elements(2 * size);
  std::vector<double> two(2);
  std::vector<double> all(2 * size);
  const std::vector<std::size_t> twos(size, 2);
  std::vector<std::size_t> places;
  for (std::size_t rank = 0; rank < size; ++rank) places.push_back(2 * rank);
  const auto channel = comm.channel(self, 1);
  struct Call {
    std::string operation;
    std::function<void()> run;
  };
  const std::vector<Call> calls = {
      {"broadcast", [&] { comm.broadcast(device, 0); }},
      {"allreduce", [&] { comm.allreduce(device, two, ReduceOp::Sum); }},
      {"allreduce", [&] { comm.allreduce(two, device, ReduceOp::Sum); }},
      {"allreduce", [&] { comm.allreduce(device, two, [](double a, double) { return a; }); }},
      {"allreduce_inplace", [&] { comm.allreduce_inplace(device, ReduceOp::Sum); }},
      {"reproducible_sum", [&] { (void)comm.reproducible_sum(device); }},
      {"allgather", [&] { comm.allgather(device, all); }},
      {"allgather", [&] { comm.allgather(two, device_of_all); }},
      {"allgatherv", [&] { (void)comm.allgatherv(device); }},
      {"allgatherv", [&] { comm.allgatherv(device, all, twos, places); }},
      {"allgatherv", [&] { comm.allgatherv(two, device_of_all, twos, places); }},
      {"allgatherv_inplace", [&] { comm.allgatherv_inplace(device_of_all, twos, places); }},
      {"gather", [&] { comm.gather(device, all, 0); }},
      {"gather", [&] { comm.gather(two, device_of_all, self); }},
      {"gatherv", [&] { (void)comm.gatherv(device, 0); }},
      {"gatherv", [&] { comm.gatherv(device, all, twos, places, 0); }},
      {"gatherv", [&] { comm.gatherv(two, device_of_all, twos, places, self); }},
      {"scatter", [&] { comm.scatter(all, device, 0); }},
      {"scatter", [&] { comm.scatter(device_of_all, two, self); }},
      {"scatterv", [&] { comm.scatterv(all, twos, places, device, 0); }},
      {"scatterv", [&] { comm.scatterv(device_of_all, twos, places, two, self); }},
      {"alltoall", [&] { comm.alltoall(device_of_all, all); }},
      {"alltoall", [&] { comm.alltoall(all, device_of_all); }},
      {"alltoallv", [&] { comm.alltoallv(device_of_all, twos, places, all, twos, places); }},
      {"alltoallv", [&] { comm.alltoallv(all, twos, places, device_of_all, twos, places); }},
      {"reduce", [&] { comm.reduce(device, two, ReduceOp::Sum, 0); }},
      {"reduce", [&] { comm.reduce(two, device, ReduceOp::Sum, self); }},
      {"scan", [&] { comm.scan(device, two, ReduceOp::Sum); }},
      {"scan", [&] { comm.scan(two, device, ReduceOp::Sum); }},
      {"exscan", [&] { comm.exscan(device, two, ReduceOp::Sum); }},
      {"exscan", [&] { comm.exscan(two, device, ReduceOp::Sum); }},
      {"reduce_scatter_block", [&] { comm.reduce_scatter_block(device_of_all, two, ReduceOp::Sum); }},
      {"reduce_scatter_block", [&] { comm.reduce_scatter_block(all, device, ReduceOp::Sum); }},
      {"ibroadcast", [&] { (void)comm.ibroadcast(device, 0); }},
      {"iallreduce", [&] { (void)comm.iallreduce(device, two, ReduceOp::Sum); }},
      {"iallreduce", [&] { (void)comm.iallreduce(two, device, ReduceOp::Sum); }},
      {"iallreduce_inplace", [&] { (void)comm.iallreduce_inplace(device, ReduceOp::Sum); }},
      {"iallgatherv", [&] { (void)comm.iallgatherv(device, all, twos, places); }},
      {"iallgatherv", [&] { (void)comm.iallgatherv(two, device_of_all, twos, places); }},
      {"broadcast_init", [&] { (void)comm.broadcast_init(device, 0); }},
      {"allreduce_init", [&] { (void)comm.allreduce_init(device, two, ReduceOp::Sum); }},
      {"allreduce_init", [&] { (void)comm.allreduce_init(two, device, ReduceOp::Sum); }},
      {"allgatherv_init", [&] { (void)comm.allgatherv_init(device, all, twos, places); }},
      {"allgatherv_init", [&] { (void)comm.allgatherv_init(two, device_of_all, twos, places); }},
      {"send", [&] { comm.send(device, self); }},
      {"recv", [&] { comm.recv(device, self); }},
      {"sendrecv", [&] { comm.sendrecv(device, self, two, self); }},
      {"sendrecv", [&] { comm.sendrecv(two, self, device, self); }},
      {"send", [&] { channel.send(device); }},
      {"recv", [&] { channel.recv(device); }},
      {"recv_some", [&] { (void)channel.recv_some(device); }},
      {"try_recv", [&] { (void)channel.try_recv(device); }},
      {"sendrecv", [&] { channel.sendrecv(two, device); }},
      {"isend", [&] { (void)channel.isend(device); }},
      {"irecv", [&] { (void)channel.irecv(device); }}};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::string refused_by = "nobody";
    try {
      calls[i].run();
    } catch (const cobre::comm::InvalidOperation& error) {
      refused_by = error.operation();
    } catch (const std::exception& error) {
      refused_by = std::string("another exception: ") + error.what();
    }
    EXPECT_EQ(refused_by, calls[i].operation) << "call " << i;
  }
  EXPECT_EQ(comm.allreduce(1, ReduceOp::Sum), static_cast<int>(size));
}

}  // namespace test
