// A stand-in for the job's secret where MUNGE runs, as under Slurm: each end of a connection gives the other a random
// number inside a credential that only processes of the same user, on machines of the same cluster, can write and read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "comm/backends/tcp/keys.hpp"

namespace cobre::comm::tcp {

/// As it travels: one size, whatever is in it.
struct Credential {
  std::uint32_t bytes = 0;
  std::uint32_t reserved = 0;
  std::array<char, 1016> text{};
};

/// Whether this build can use MUNGE at all.
[[nodiscard]] bool has_munge() noexcept;

/// Throws InitializationFailed where MUNGE does not run.
[[nodiscard]] Credential write_credential(const Bytes32& secret);
/// Nothing where it was not written for and by this user, or was read before.
[[nodiscard]] std::optional<Bytes32> read_credential(const Credential& credential);

/// The key of a connection, from what the two ends gave each other.
[[nodiscard]] Key key_between(const Bytes32& connector, const Bytes32& acceptor);

}  // namespace cobre::comm::tcp
