// Long runs of everything at once.

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "stress/soak.hpp"
#include "support/processes.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "support/shm_ranks.hpp"
#endif
#ifdef COBRE_COMM_HAS_TCP
#include "support/tcp_ranks.hpp"
#endif

namespace {

template <class Config>
void soak(const std::vector<Config>& configs) {
  std::vector<test::Process> ranks;
  for (const Config& config : configs) {
    ranks.emplace_back([&] {
      const auto comm = cobre::comm::create_communicator(config);
      return stress::soak(comm, stress::soak_operations(), 20261115);
    });
  }
  for (auto& rank : ranks) EXPECT_EQ(rank.words(std::chrono::minutes(50)), "right");
}

TEST(Soak, OnLocal) {
  const cobre::comm::CommBackend comm(cobre::comm::LocalBackend{});
  EXPECT_EQ(stress::soak(comm, stress::soak_operations(), 20261115), "right");
}
#ifdef COBRE_COMM_HAS_SHM
TEST(Soak, OnShm) {
  soak(test::shm_configs(3));
}
TEST(Soak, OnShmThroughBuffers) {
  soak(test::shm_configs(4, [](auto& config) { config.single_copy = cobre::comm::SingleCopy::Off; }));
}
#endif
#ifdef COBRE_COMM_HAS_TCP
TEST(Soak, OnTcp) {
  soak(test::tcp_configs(3));
}
TEST(Soak, OnTcpSharingMemory) {
  soak(test::tcp_configs(3, [](auto& config) { config.shared_memory = true; }));
}
#endif

}  // namespace
