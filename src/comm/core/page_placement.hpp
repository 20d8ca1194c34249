// Asking the kernel for a kind of pages and for their place.
#pragma once

#include <cobre/comm/region.hpp>

#include <cstddef>

namespace cobre::comm::core {

/// Applies the wishes to mapped memory before it is touched. A kernel or machine that cannot is left alone: wishes are
/// about speed, never about results.
void place_pages(void* address, std::size_t bytes, const RegionOptions& options) noexcept;

}  // namespace cobre::comm::core
