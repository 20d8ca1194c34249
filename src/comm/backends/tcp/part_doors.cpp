#include "comm/backends/tcp/part_doors.hpp"

#include <algorithm>

#include "comm/backends/tcp/handshake.hpp"

namespace cobre::comm::tcp {
namespace {

// Each of the two has its own number for the interface of a link-local address.
bool same_place(const Address::Wire& a, const Address::Wire& b) noexcept {
  return a.family == b.family && a.bytes == b.bytes;
}

}  // namespace

std::optional<std::size_t> who_claims_too_many(std::span<const std::size_t> doors) noexcept {
  const auto found = std::ranges::find_if(doors, [](std::size_t count) { return count >= largest_job; });
  if (found == doors.end()) return std::nullopt;
  return static_cast<std::size_t>(found - doors.begin());
}

std::optional<Address::Wire> door_among(const std::vector<Address::Wire>& opened, const Address::Wire& known) {
  auto found = std::ranges::find_if(opened, [&](const auto& door) { return same_place(door, known); });
  // One at any address leads there by the address that is known.
  if (found == opened.end() && opened.size() == 1) found = opened.begin();
  if (found == opened.end()) return std::nullopt;
  Address::Wire door = known;
  door.port = found->port;
  return door;
}

}  // namespace cobre::comm::tcp
