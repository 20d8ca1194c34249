// How the ranks of a communicator form smaller ones.
#pragma once

#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/errors.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cobre::comm::detail {

/// What a rank says of itself: ranks of one colour form a part, in which they stand by key, ties by their old rank.
struct Seat {
  std::int32_t color;  // below 0: of no part
  std::int32_t key;
};

/// The same on every rank, but for where it stands itself.
struct Division {
  Where where;
  OperationRecord record;
  std::vector<std::vector<std::size_t>> parts;  // by ascending colour; each lists old ranks by new rank
  std::optional<std::size_t> part;              // the one of this rank, if any
  std::size_t rank = 0;                         // of this rank in it

  /// The old ranks of this rank's part, which there must be, by new rank.
  [[nodiscard]] const std::vector<std::size_t>& members() const noexcept { return parts[part.value_or(0)]; }
};

[[nodiscard]] Division divide(const Where& where, const OperationRecord& record, std::span<const Seat> seats);

}  // namespace cobre::comm::detail
