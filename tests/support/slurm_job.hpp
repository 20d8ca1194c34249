// The environment of a task of a Slurm job, and what a topology has to say of it.
#pragma once

#include <cobre/comm/topology.hpp>

#include <optional>

#include "support/environment.hpp"

namespace test {

/// Calls `expect` with what the topology of a communicator that is made then says of Slurm: inside of a job, inside of
/// one of which only the number is known, and outside of any.
template <class Expect>
void for_each_slurm_job(Expect&& expect) {
  using cobre::comm::SlurmJobInfo;
  ScopedEnvironment environment;
  for (const char* const name : {"SLURM_JOBID", "SLURM_NODELIST"}) environment.unset(name);
  environment.set("SLURM_JOB_ID", "4711");
  environment.set("SLURM_JOB_NODELIST", "n[1-3,7]");
  environment.set("SLURM_CPUS_PER_TASK", "6");
  expect(std::optional(SlurmJobInfo{"4711", "n[1-3,7]", 6}));
  environment.unset("SLURM_JOB_NODELIST");
  environment.unset("SLURM_CPUS_PER_TASK");
  expect(std::optional(SlurmJobInfo{"4711", std::nullopt, std::nullopt}));
  environment.unset("SLURM_JOB_ID");
  expect(std::optional<SlurmJobInfo>());
}

}  // namespace test
