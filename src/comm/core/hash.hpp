// A text as one number: the same in every process of one version of this library.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include <cstdint>
#include <string_view>

namespace cobre::comm::core {

[[nodiscard]] constexpr std::uint64_t hash(std::string_view text, std::uint64_t seed = 0) noexcept {
  std::uint64_t state = detail::mix(seed ^ text.size());
  for (const char c : text) state = detail::mix(state ^ static_cast<unsigned char>(c));
  return state;
}

}  // namespace cobre::comm::core
