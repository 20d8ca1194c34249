// Every number of ranks, each with a network that buffers and with one that does not.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/thread_network.hpp"
#include "comm/algorithms/collectives.hpp"

namespace cobre::comm::test {

struct World {
  std::size_t ranks;
  std::size_t buffer_bytes;
};

inline std::vector<World> all_worlds() {
  std::vector<World> worlds;
  for (std::size_t ranks = 1; ranks <= 9; ++ranks) {
    worlds.push_back({ranks, 0});
    worlds.push_back({ranks, 256});
  }
  return worlds;
}

class EveryWorld : public ::testing::TestWithParam<World> {
 protected:
  template <class Body>
  static void on_every_rank(Body&& body) {
    ThreadNetwork network(GetParam().ranks, GetParam().buffer_bytes);
    network.run(body);
  }
};

inline std::string name_of(const ::testing::TestParamInfo<World>& info) {
  return std::to_string(info.param.ranks) + (info.param.ranks == 1 ? "_rank" : "_ranks") +
         (info.param.buffer_bytes == 0 ? "_without_buffers" : "_with_short_buffers");
}

/// Failures are strings, because a rank is a thread: what it finds out, the test says.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace cobre::comm::test
