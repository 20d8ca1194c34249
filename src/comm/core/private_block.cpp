#include <cobre/comm/region.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "comm/core/format.hpp"
#include "comm/core/memory_limits.hpp"
#include "comm/core/page_placement.hpp"

namespace cobre::comm::detail {

std::size_t region_bytes(const Where& where, std::size_t count, std::size_t element_size) {
  constexpr std::size_t largest = std::numeric_limits<std::ptrdiff_t>::max();
  if (count > largest / element_size) {
    throw AllocationFailed(where, std::numeric_limits<std::size_t>::max(),
                           core::format("{} elements of {} bytes are more than any process can address; check how the "
                                        "count was computed",
                                        count, element_size));
  }
  return count * element_size;
}

PrivateBlock::PrivateBlock(const Where& where, std::size_t bytes, const RegionOptions& options) : bytes_(bytes) {
  if (bytes == 0) return;
  if (const auto lack = core::lack_of_memory(bytes)) throw AllocationFailed(where, bytes, *lack);
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw AllocationFailed(where, bytes, core::format("the kernel refused the memory ({})", std::strerror(errno)));
  }
  data_ = mapped;
  core::place_pages(data_, bytes_, options);
}

PrivateBlock::~PrivateBlock() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace cobre::comm::detail
