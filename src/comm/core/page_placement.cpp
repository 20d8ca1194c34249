#include "comm/core/page_placement.hpp"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>

namespace cobre::comm::core {
namespace {

constexpr std::size_t bits_per_word = sizeof(unsigned long) * CHAR_BIT;
using NodeMask = std::array<unsigned long, 1024 / bits_per_word>;

// The domains from which this process may take memory.
bool allowed_domains(NodeMask& nodes) noexcept {
  return syscall(SYS_get_mempolicy, nullptr, nodes.data(), nodes.size() * bits_per_word, nullptr,
                 MPOL_F_MEMS_ALLOWED) == 0;
}

}  // namespace

void place_pages(void* address, std::size_t bytes, const RegionOptions& options) noexcept {
  if (options.huge_pages) (void)madvise(address, bytes, MADV_HUGEPAGE);
  if (options.placement == RegionOptions::Placement::Interleave) {
    NodeMask nodes{};
    if (!allowed_domains(nodes)) return;
    (void)syscall(SYS_mbind, address, bytes, MPOL_INTERLEAVE, nodes.data(), nodes.size() * bits_per_word, 0);
  }
}

}  // namespace cobre::comm::core
