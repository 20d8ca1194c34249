// Private memory for the length of one operation, taken once at start-up. Pages that no operation needs cost nothing.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "comm/backends/shm/endpoint.hpp"

namespace cobre::comm::shm {

struct Endpoint::Scratch {
  Scratch(std::size_t pieces, std::size_t piece_bytes)
      : piece((piece_bytes + 4095) / 4096 * 4096), bytes(pieces * piece) {
    if (bytes == 0) return;
    void* const mapped =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    data = static_cast<std::byte*>(mapped);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (data != nullptr) munmap(data, bytes);
  }

  [[nodiscard]] std::byte* operator[](std::size_t index) const noexcept { return data + index * piece; }

  std::size_t piece;
  std::size_t bytes;
  std::byte* data = nullptr;
};

}  // namespace cobre::comm::shm
