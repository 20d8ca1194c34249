// The hash of everything that a rank has done in a communicator. Ranks compare it with every post: where it is equal
// they have called the same operations with the same arguments up to this one, broadcasts included, whose root nobody
// tells.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include "comm/backends/shm/layout.hpp"

namespace cobre::comm::shm {

/// Both halves of the product of two words: every bit of either reaches every bit of the result, in a few cycles.
[[nodiscard]] constexpr Word fold_product(Word a, Word b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<Word>(product) ^ static_cast<Word>(product >> 64);
}

/// One operation further. The post cannot go out before this is known, hence no dependence on the last result but in
/// the last step. Which operation it is needs no mention: hashes are compared only at the same number.
[[nodiscard]] constexpr Word extend(Word chain, const detail::OperationRecord& record) noexcept {
  const Word kind = static_cast<Word>(record.operation) | Word{record.reduction} << 8 |
                    static_cast<Word>(record.type) << 16 | Word{record.reproducible} << 24 |
                    Word{record.element_size} << 32;
  const Word what = fold_product(kind ^ 0x9e3779b97f4a7c15U, record.count ^ 0xbf58476d1ce4e5b9U);
  return fold_product(chain ^ 0x94d049bb133111ebU, what ^ (record.root + 1) * 0xd6e8feb86659fd93U);
}

}  // namespace cobre::comm::shm
