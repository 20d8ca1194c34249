// The backends by name.
#pragma once

#include <cstdint>

namespace cobre::comm {

enum class BackendKind : std::uint8_t { Auto, Mpi, Tcp, Shm, Local };

/// The name that COBRE_COMM_BACKEND knows: "auto", "mpi", "tcp", "shm", "local".
[[nodiscard]] constexpr const char* to_string(BackendKind kind) noexcept {
  switch (kind) {
    case BackendKind::Auto: return "auto";
    case BackendKind::Mpi: return "mpi";
    case BackendKind::Tcp: return "tcp";
    case BackendKind::Shm: return "shm";
    case BackendKind::Local: return "local";
  }
  return "unknown backend";
}

}  // namespace cobre::comm
