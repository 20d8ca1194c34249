// Ranks that are in different operations: who differs from whom.
#pragma once

#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/errors.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
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

/// "rank 0 is in barrier, rank 2 in allreduce of 1 x double with Sum".
[[nodiscard]] std::string describe(const Disagreement& disagreement);
[[noreturn]] void throw_mismatch(const Where& where, const Disagreement& disagreement);

/// Throws it where the records, one a rank, are not all the same.
void require_agreement(const Where& where, std::span<const detail::OperationRecord> records);

/// A part whose length only its two ends know, and they do not agree.
struct LengthMismatch {
  std::size_t sender;
  std::size_t receiver;
  std::size_t sent;  // in elements, as is what is expected
  std::size_t expected;
};
[[noreturn]] void throw_length_mismatch(const Where& where, const LengthMismatch& mismatch);

}  // namespace cobre::comm::core
