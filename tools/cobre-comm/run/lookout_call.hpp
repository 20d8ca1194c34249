// What a rank tells the lookout of its job.
#pragma once

#include <cstdint>

namespace cobre::command {

/// A descriptor of the process comes with it.
struct LookoutCall {
  std::uint32_t rank = 0;
  std::uint32_t ranks_on_host = 0;
};

}  // namespace cobre::command
