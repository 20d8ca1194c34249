// Ranks that are in different operations: who differs from whom.
#pragma once

#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/errors.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace cobre::comm::core {

struct Disagreement {
  std::size_t usual = 0;  // a rank of the largest party, and what it does
  detail::OperationRecord usual_record;
  std::size_t odd = 0;  // a rank of another one
  detail::OperationRecord odd_record;
  std::vector<std::size_t> ranks;  // that differ from the largest party; everyone where no party is the largest
};

/// What the ranks did at one place in the order of operations, by rank; nothing where a rank has not been there.
[[nodiscard]] Disagreement judge(std::span<const std::optional<detail::OperationRecord>> records);

[[noreturn]] void throw_mismatch(const Where& where, const Disagreement& disagreement);

}  // namespace cobre::comm::core
