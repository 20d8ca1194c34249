// Whether a configuration makes sense.
#pragma once

#include <cobre/comm/mpi.hpp>

#include <chrono>
#include <optional>

namespace cobre::comm::mpi {

/// Throws InitializationFailed where it does not.
void check(const MpiConfig& config);

/// How long to wait; null for ever.
inline std::optional<std::chrono::nanoseconds> timeout_of(const MpiConfig& config) noexcept {
  if (config.timeout.count() == 0) return std::nullopt;
  return config.timeout;
}

}  // namespace cobre::comm::mpi
