// The hash of everything that a rank has done in a communicator. Ranks compare it with whatever they get from each
// other: where it is equal they have called the same operations with the same arguments up to this one, broadcasts
// included, whose root nobody tells. Where they did not, it differs but for a chance of about 2^-64.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include <cstdint>

namespace cobre::comm::core {

/// Both halves of the product of two words: every bit of either reaches every bit of the result, in a few cycles.
[[nodiscard]] constexpr std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// One operation further. Nothing can go out before this is known, hence no dependence on the last result but in
/// the last step. Which operation it is needs no mention: hashes are compared only at the same number.
[[nodiscard]] constexpr std::uint64_t extend(std::uint64_t chain, const detail::OperationRecord& record) noexcept {
  const std::uint64_t kind = static_cast<std::uint64_t>(record.operation) | std::uint64_t{record.reduction} << 8 |
                             static_cast<std::uint64_t>(record.type) << 16 | std::uint64_t{record.reproducible} << 24 |
                             std::uint64_t{record.element_size} << 32;
  const std::uint64_t what = fold_product(kind ^ 0x9e3779b97f4a7c15U, record.count ^ 0xbf58476d1ce4e5b9U);
  return fold_product(chain ^ 0x94d049bb133111ebU, what ^ (record.root + 1) * 0xd6e8feb86659fd93U);
}

}  // namespace cobre::comm::core
