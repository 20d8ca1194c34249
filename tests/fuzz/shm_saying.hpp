// What the fuzzer of shm says, and how what comes of it is looked at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "comm/backends/shm/messages.hpp"
#include "shm_parsers.hpp"

namespace fuzz {

template <class Message>
std::vector<std::byte> changed(const Message& message, std::span<const std::uint8_t> change) {
  const auto honest = std::as_bytes(std::span(&message, 1));
  std::vector<std::byte> bytes(honest.begin(), honest.end());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] ^= std::byte{change[i]};
  return bytes;
}

inline void say(const cobre::comm::core::Descriptor& socket, std::vector<std::byte> bytes, std::uint8_t cut,
                std::span<const int> handed) {
  switch (static_cast<Cut>(cut % cuts)) {
    case Cut::None: break;
    case Cut::Shorter: bytes.pop_back(); break;
    case Cut::Longer: bytes.push_back({}); break;
    case Cut::NothingAtAll: return;
  }
  (void)cobre::comm::shm::send_bytes(socket.get(), bytes, handed);
}

/// Nothing of what came may reach a terminal as it is.
inline bool is_readable(std::string_view words) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !words.empty() && std::ranges::none_of(words, is_control);
}

/// The right descriptor, and some more; or none.
inline std::vector<int> with_more(int right, std::uint8_t more) {
  return more % 4 == 3 ? std::vector<int>() : std::vector<int>(1 + more % 4, right);
}

}  // namespace fuzz
