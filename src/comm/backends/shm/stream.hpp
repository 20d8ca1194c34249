// Copying into memory that another core reads next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "comm/core/sanitizers.hpp"

#if defined(__SSE2__) && !defined(COBRE_THREAD_SANITIZER)  // the sanitizer does not see these stores
#include <emmintrin.h>
#define COBRE_COMM_STREAMING_STORES 1
#endif

namespace cobre::comm::shm {

/// What a rank copies for itself would not stay in a cache until it is used.
inline constexpr std::size_t too_long_for_caches = std::size_t{4} << 20;

/// Past the caches. Where the last reader sits behind another cache, its stale copies make ordinary stores wait for one
/// line after the other; these do not. The fence makes a flag that is stored afterwards the last thing to be seen, as
/// it is after ordinary stores.
inline void copy_past_caches(std::byte* to, const void* from, std::size_t bytes) noexcept {
#ifdef COBRE_COMM_STREAMING_STORES
  constexpr std::size_t line = 64;
  const auto* source = static_cast<const std::byte*>(from);
  const std::size_t before_line = std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
  std::memcpy(to, source, before_line);
  to += before_line;
  source += before_line;
  bytes -= before_line;
  for (; bytes >= line; bytes -= line, to += line, source += line) {
    for (std::size_t i = 0; i < line; i += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i)));
    }
  }
  std::memcpy(to, source, bytes);
  _mm_sfence();
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace cobre::comm::shm
