// Training in a test: one rank, no files, no output.
#pragma once

#include <cobre/comm/local.hpp>

#include <vector>

#include "case.hpp"
#include "train.hpp"

namespace test {

inline sddp::Case small_case(std::uint64_t iterations, std::uint64_t seed = 1) {
  sddp::CaseSizes sizes;
  sizes.stages = 3;
  sizes.hydros = 2;
  sizes.thermals = 2;
  sizes.order = 2;
  sizes.scenarios = 6;
  sizes.openings = 3;
  sizes.iterations = iterations;
  sizes.seed = seed;
  return sddp::synthetic_case(sizes);
}

inline std::vector<double> tree_of(const sddp::System& system) {
  std::vector<double> shocks(sddp::ScenarioTree::count(system.dimensions()));
  sddp::fill_tree(system, shocks);
  return shocks;
}

template <cobre::comm::Communicator C>
std::vector<sddp::Iteration> train_on(const C& comm, const sddp::Case& data, const sddp::Settings& settings) {
  const sddp::System system = data.system();
  const std::vector<double> shocks = tree_of(system);
  sddp::CutPool<C> pool(comm, data.dimensions);
  sddp::Recorder recorder;
  std::vector<sddp::Iteration> trace;
  const sddp::Surroundings quiet{[] { return false; }, [](const auto&, sddp::Status) {}};
  (void)sddp::train(comm, system, {data.dimensions, shocks}, pool, settings, quiet, trace, recorder);
  return trace;
}

inline std::vector<sddp::Iteration> train(const sddp::Case& data, const sddp::Settings& settings = {}) {
  return train_on(cobre::comm::LocalBackend(), data, settings);
}

}  // namespace test
