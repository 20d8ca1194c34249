#include "comm/backends/mpi/config.hpp"

#include "comm/core/environment.hpp"

namespace cobre::comm {

MpiConfig MpiConfig::from_environment() {
  const core::EnvironmentReader environment("mpi");
  MpiConfig config;
  config.timeout = environment.timeout();
  config.check = environment.flag("COBRE_COMM_CHECK").value_or(false);
  return config;
}

void mpi::check(const MpiConfig& config) {
  if (config.warn_after.count() <= 0 || config.timeout.count() < 0) {
    throw InitializationFailed("mpi", "warn_after must be above 0, and timeout not below it");
  }
}

}  // namespace cobre::comm
