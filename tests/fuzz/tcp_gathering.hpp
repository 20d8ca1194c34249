// Ranks that come together, as the fuzzer lets others talk to them who know the job's secret.
#pragma once

#include <cstddef>
#include <span>

namespace fuzz {

/// Rank 0, to whom the fuzzer's visitors come, and then those for whom it waits.
void coordinate_visitors(std::span<const std::byte> bytes);

/// Rank 1, whose rank 0 is the fuzzer's.
void join_a_job(std::span<const std::byte> bytes);

}  // namespace fuzz
