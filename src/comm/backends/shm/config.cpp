#include <cobre/comm/shm.hpp>

#include "comm/backends/shm/config.hpp"
#include "comm/backends/shm/layout.hpp"
#include "comm/core/environment.hpp"
#include "comm/core/format.hpp"
#include "comm/core/inherited.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm {

ShmConfig ShmConfig::from_environment() {
  core::EnvironmentReader environment("shm");
  ShmConfig config;
  config.name = environment.required_text("COBRE_SHM_NAME");
  config.rank = environment.required_number("COBRE_SHM_RANK", 0, shm::largest_group - 1);
  config.size = environment.required_number("COBRE_SHM_SIZE", 1, shm::largest_group);
  config.timeout = environment.timeout();
  config.witness = core::inherited_descriptor(environment.text("COBRE_COMM_WITNESS").value_or(""));
  environment.require_all();
  return config;
}

void shm::check(const ShmConfig& config) {
  constexpr std::size_t longest_name = 200;
  if (config.name.empty() || config.name.size() > longest_name) {
    throw InvalidConfiguration("shm", "COBRE_SHM_NAME", config.name,
                               core::format("a text of 1 to {} bytes that all ranks of the group share", longest_name));
  }
  core::require_rank_of("shm", {"COBRE_SHM_RANK", config.rank}, {"COBRE_SHM_SIZE", config.size}, largest_group);
  if (config.connect_timeout.count() <= 0 || config.warn_after.count() <= 0 || config.timeout.count() < 0) {
    throw InitializationFailed("shm", "connect_timeout and warn_after must be above 0, and timeout not below it");
  }
}

}  // namespace cobre::comm
