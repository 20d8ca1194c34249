// Which doors the ranks of a whole have opened for its parts, as each of them says.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "comm/backends/tcp/address.hpp"

namespace cobre::comm::tcp {

/// The first rank that says of itself that it has opened more doors than any can have: one for each address by which
/// one of the others came, who are fewer than the ranks of the largest job.
[[nodiscard]] std::optional<std::size_t> who_claims_too_many(std::span<const std::size_t> doors) noexcept;

/// The door by which this rank, which knows `known` of another one, reaches it among those that it has opened.
[[nodiscard]] std::optional<Address::Wire> door_among(const std::vector<Address::Wire>& opened,
                                                      const Address::Wire& known);

}  // namespace cobre::comm::tcp
