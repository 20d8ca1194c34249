// fmt's interface, with the formatter itself compiled in one place: each source that had it made for itself took three
// seconds longer to compile.
#pragma once

#include <fmt/core.h>

#include <string>

namespace cobre::comm::core {

[[nodiscard]] std::string format_all(fmt::string_view text, fmt::format_args arguments);

/// The text is checked against the arguments when it is compiled.
template <class... T>
[[nodiscard]] std::string format(fmt::format_string<T...> text, T&&... arguments) {
  return format_all(text, fmt::make_format_args(arguments...));
}

}  // namespace cobre::comm::core
