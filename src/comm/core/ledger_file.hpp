// The memory file that a launcher makes for each of its ranks, and reads when the rank has died: one half for the job's
// first communicator, where that keeps its notes there, and one for the communicators that are made of it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace cobre::comm::core {

/// Zero bytes are its initial state. Whoever owns a half says in it by which layout.
struct LedgerFile {
  static constexpr std::size_t half_bytes = 8192;
  alignas(128) std::array<std::byte, half_bytes> first;
  std::array<std::byte, half_bytes> parts;
};

/// Null where the file is none of these. A program that this process starts does not inherit it.
[[nodiscard]] std::shared_ptr<LedgerFile> map_ledger_file(int file);

}  // namespace cobre::comm::core
