// Error texts are put together here: strings and numbers in reading order.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace ferrompi::detail {

inline void append(std::string& text, std::string_view part) {
  text.append(part);
}

template <std::integral Number>
void append(std::string& text, Number number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  text.append(digits, end);
}

template <class... Parts>
[[nodiscard]] std::string text_of(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

}  // namespace ferrompi::detail
