// A stand-in for the job's secret where MUNGE runs, as under Slurm: each end of a connection gives the other a random
// number inside a credential that only processes of the same user, on machines of the same cluster, can write and read.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "comm/backends/tcp/keys.hpp"

namespace cobre::comm::tcp {

/// As it travels: one size, whatever is in it.
struct Credential {
  std::uint32_t bytes = 0;
  std::uint32_t reserved = 0;
  std::array<char, 1016> text{};
};

/// What a peer sent, as MUNGE reads it: up to a zero. Nothing where it does not even look like a credential, and MUNGE
/// need not be asked.
using CredentialText = decltype(Credential::text);
[[nodiscard]] std::optional<CredentialText> text_of(const Credential& credential) noexcept;
/// What this user finds in a credential that MUNGE has read: nothing where another one wrote it, or something else.
[[nodiscard]] std::optional<Bytes32> secret_in(std::span<const std::byte> payload, uid_t writer, uid_t user) noexcept;

/// Whether this build can use MUNGE at all.
[[nodiscard]] bool has_munge() noexcept;

/// The credential, or why MUNGE writes none.
struct Written {
  std::optional<Credential> credential;
  std::string problem;
};
[[nodiscard]] Written try_to_write_credential(const Bytes32& secret);
/// Throws InitializationFailed where MUNGE does not run.
[[nodiscard]] Credential write_credential(const Bytes32& secret);
/// Nothing where it was not written for and by this user, or was read before.
[[nodiscard]] std::optional<Bytes32> read_credential(const Credential& credential);

/// The key of a connection, from what the two ends gave each other, and which step both must be of: MUNGE vouches for
/// the user, who may have an earlier job that still knocks.
[[nodiscard]] Key key_between(const Bytes32& connector, const Bytes32& acceptor, std::string_view step);
/// Which step of Slurm this process is of, one of a job that was started again included; empty outside of Slurm.
[[nodiscard]] std::string step_of_slurm();

}  // namespace cobre::comm::tcp
