// Random operations of all kinds, on a job and its parts, for as long as wanted: every element of every result is
// checked, and at the end memory and descriptors are what they were half-way.
#pragma once

#include <cobre/comm.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace stress {

/// Collective; the same arguments on every rank. "right", or what was wrong.
[[nodiscard]] std::string soak(const cobre::comm::CommBackend& world, std::size_t operations, std::uint64_t seed);

/// As many as the run is about: ten thousand, or a million where COBRE_TEST_FULL is set.
[[nodiscard]] std::size_t soak_operations();

}  // namespace stress
