// Making a region as an operation: what the ranks must agree on before any of them asks for memory.
#pragma once

#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/region.hpp>

#include <cstddef>
#include <cstdint>

namespace cobre::comm::detail {

/// There is no root: the wishes for the pages stand in its place.
[[nodiscard]] inline OperationRecord region_record(std::size_t count, std::size_t element_size,
                                                   const RegionOptions& options) noexcept {
  return {.operation = Operation::CreateRegion,
          .element_size = static_cast<std::uint32_t>(element_size),
          .count = count,
          .root = static_cast<std::uint64_t>(options.placement) << 1 | (options.huge_pages ? 1U : 0U)};
}

}  // namespace cobre::comm::detail
