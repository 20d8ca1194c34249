// Lists of numbers, as a user of `cobre-comm bench` writes them: with commas between. What is wrong is a UsageError.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cobre::command::bench {

[[nodiscard]] std::vector<std::string> parts_of(const std::string& list);

/// `8,1K,4M` in bytes: each once, the smallest first, and whole doubles.
[[nodiscard]] std::vector<std::size_t> read_sizes(const std::string& list);

/// Each once, the smallest first.
[[nodiscard]] std::vector<std::size_t> read_rank_counts(const std::string& list);

}  // namespace cobre::command::bench
