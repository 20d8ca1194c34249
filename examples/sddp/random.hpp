// Random numbers that are a function of what they are for. There is no generator whose state could depend on which rank
// drew before: the number of (seed, iteration, scenario, stage) is the same wherever it is computed. Only integer
// arithmetic, additions and multiplications, so the bits do not depend on a mathematical library either.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace sddp {

/// 64 well-mixed bits of these words: the finaliser of SplitMix64 after each.
inline std::uint64_t hash(std::initializer_list<std::uint64_t> words) noexcept {
  std::uint64_t state = 0;
  for (const std::uint64_t word : words) {
    state += word + 0x9e3779b97f4a7c15U;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebU;
    state ^= state >> 31;
  }
  return state;
}

/// Evenly from [0, 1).
inline double uniform(std::initializer_list<std::uint64_t> words) noexcept {
  return static_cast<double>(hash(words) >> 11) * 0x1p-53;
}

/// Mean 0, deviation 1, bounded by 6: the sum of twelve uniform numbers, centred. A bell without a logarithm.
inline double bell(std::uint64_t seed) noexcept {
  double sum = -6.0;
  for (std::uint64_t draw = 0; draw < 12; ++draw) sum += uniform({seed, draw});
  return sum;
}

/// What a random number is for; part of its words, so that no two purposes share their numbers.
enum class Purpose : std::uint64_t { Shock, CommonShock, Path, Case };

}  // namespace sddp
