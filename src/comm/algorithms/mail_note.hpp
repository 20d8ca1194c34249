// What a rank waits for in a call that sends or receives, where whoever started it can still read it when the rank has
// died. Written only where a call has to wait: one that finds what it wants costs nothing.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "comm/core/format.hpp"

namespace cobre::comm::algorithms {

/// Zero bytes are its initial state. One writer, its rank; a reader who finds it half-written has bad luck with a word.
struct MailNote {
  std::atomic<std::uint64_t> peer;  // 2 * (rank + 1), and 1 for a message to it; 0 while nothing is waited for
  std::atomic<std::int64_t> tag;
  std::array<std::atomic<std::uint64_t>, 2> name;  // of the operation, cut where it is longer
};

/// There for as long as the call waits.
class Noted {
 public:
  Noted(MailNote& note, const detail::Transfer& transfer) noexcept : note_(note) {
    std::array<std::uint64_t, 2> name{};
    std::memcpy(name.data(), transfer.operation.data(), std::min(transfer.operation.size(), sizeof name));
    const std::uint64_t out = transfer.direction == detail::Transfer::Direction::Out ? 1 : 0;
    note_.tag.store(transfer.envelope.tag, std::memory_order_relaxed);
    for (std::size_t i = 0; i < name.size(); ++i) note_.name[i].store(name[i], std::memory_order_relaxed);
    // Release: pairs with the acquire in words_of(), which then finds the rest.
    note_.peer.store(2 * (transfer.envelope.peer + 1) + out, std::memory_order_release);
  }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  ~Noted() { note_.peer.store(0, std::memory_order_release); }

 private:
  MailNote& note_;
};

/// "recv from rank 2 with tag 7"; nothing where no call waits.
[[nodiscard]] inline std::string words_of(const MailNote& note) {
  const std::uint64_t peer = note.peer.load(std::memory_order_acquire);
  if (peer < 2) return "";
  std::array<char, sizeof(note.name)> name{};
  for (std::size_t i = 0; i < note.name.size(); ++i) {
    const std::uint64_t part = note.name[i].load(std::memory_order_relaxed);
    std::memcpy(name.data() + sizeof part * i, &part, sizeof part);
  }
  std::string_view shown(name.data(), name.size());
  shown = shown.substr(0, shown.find('\0'));
  // Memory that a dying rank has written all over must not reach a terminal.
  if (shown.empty() || shown.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string_view::npos) {
    shown = "a message";
  }
  return core::format("{} {} rank {} with tag {}", shown, peer % 2 != 0 ? "to" : "from", peer / 2 - 1,
                      note.tag.load(std::memory_order_relaxed));
}

}  // namespace cobre::comm::algorithms
