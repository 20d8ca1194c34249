// Numbers as users, schedulers and the kernel write them.
#pragma once

#include <concepts>
#include <optional>
#include <string_view>

namespace cobre::comm::detail {

/// The whole text as one number: decimal digits and nothing else, neither sign nor blank, and not more than N holds.
template <std::integral N>
[[nodiscard]] constexpr std::optional<N> parse_number(std::string_view text) noexcept {
  if (text.empty()) return std::nullopt;
  N value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    N grown = 0;
    if (__builtin_mul_overflow(value, N{10}, &grown)) return std::nullopt;
    if (__builtin_add_overflow(grown, static_cast<N>(c - '0'), &value)) return std::nullopt;
  }
  return value;
}

}  // namespace cobre::comm::detail
