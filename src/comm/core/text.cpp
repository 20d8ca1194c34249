#include "comm/core/text.hpp"

#include <string.h>

#include "comm/core/format.hpp"

namespace cobre::comm::core {

std::string quoted(std::string_view value) {
  constexpr std::size_t longest = 80;
  std::string out = "'";
  for (const char c : value.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += core::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += '\'';
  if (value.size() > longest) out += core::format(" (cut: {} characters in all)", value.size());
  return out;
}

std::string rank_list(std::span<const std::size_t> ranks, std::size_t most) {
  if (ranks.size() == 1) return core::format("rank {}", ranks[0]);
  constexpr std::size_t shortest_run = 3;
  std::string out = "ranks ";
  std::size_t begin = 0;
  for (std::size_t shown = 0; begin < ranks.size() && shown < most; ++shown) {
    std::size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - begin < shortest_run) end = begin + 1;
    if (begin > 0) out += end == ranks.size() ? " and " : ", ";
    out += end - begin > 1 ? core::format("{}-{}", ranks[begin], ranks[end - 1]) : core::format("{}", ranks[begin]);
    begin = end;
  }
  if (begin < ranks.size()) out += core::format(" and {} more", ranks.size() - begin);
  return out;
}

std::string elements(std::size_t count) {
  return count == 1 ? "1 element" : core::format("{} elements", count);
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? core::format("{} (SIG{})", signal, name) : core::format("{}", signal);
}

std::string joined(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text.append(i == 0 ? "" : separator).append(words[i]);
  return text;
}

bool is_utf8(std::string_view bytes) noexcept {
  std::size_t i = 0;
  while (i < bytes.size()) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || i + length > bytes.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(bytes[i + k]) & 0xC0) != 0x80) return false;
    }
    if (length > 2) {
      const auto second = static_cast<unsigned char>(bytes[i + 1]);
      const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
      const bool surrogate = lead == 0xED && second >= 0xA0;
      const bool too_large = lead == 0xF4 && second >= 0x90;
      if (overlong || surrogate || too_large) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace cobre::comm::core
