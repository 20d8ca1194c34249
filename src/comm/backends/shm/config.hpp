// Whether a configuration makes sense.
#pragma once

#include <cobre/comm/shm.hpp>

namespace cobre::comm::shm {

/// Throws InvalidConfiguration for the first thing that does not.
void check(const ShmConfig& config);

}  // namespace cobre::comm::shm
