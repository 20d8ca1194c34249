// Turning facts into words for messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cobre::comm::core {

/// The value in single quotes, with everything that a terminal should not see escaped, and cut when it is long.
std::string quoted(std::string_view value);

/// "rank 3", "ranks 0, 2 and 5-9"; three and more that follow each other are named by the first and the last. A long
/// list is cut after `most` of these and says how many more ranks there are.
std::string rank_list(std::span<const std::size_t> ranks, std::size_t most = 16);
inline constexpr std::size_t all_of_them = ~std::size_t{0};

/// "1 element", "7 elements".
std::string elements(std::size_t count);

/// "9 (SIGKILL)".
std::string signal_name(int signal);

std::string joined(std::span<const std::string> words, std::string_view separator);

/// Whether the bytes are well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
bool is_utf8(std::string_view bytes) noexcept;

}  // namespace cobre::comm::core
