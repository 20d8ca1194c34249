// Which parser an input of the tcp fuzzer is for: its first byte.
#pragma once

#include <cstdint>

namespace fuzz {

inline constexpr std::uint8_t parser_count = 8;

enum class Parser : std::uint8_t { Accept, Join, Reply, Listen, Header, Address, Messages, Introduce };

inline constexpr std::uint32_t job_size = 4;

}  // namespace fuzz
