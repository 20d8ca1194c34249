// Whether a configuration makes sense, and what follows from it.
#pragma once

#include <cobre/comm/tcp.hpp>

#include <string>
#include <string_view>

#include "comm/backends/tcp/address.hpp"
#include "comm/backends/tcp/keys.hpp"

namespace cobre::comm::tcp {

/// Throws InvalidConfiguration for the first thing that does not.
void check(const TcpConfig& config);

/// The first host of a list as Slurm folds it: n1 of `n[1-3,7]`.
[[nodiscard]] std::string first_node(std::string_view list);

/// The coordinator with its port; `check` has passed.
[[nodiscard]] HostAndPort coordinator_of(const TcpConfig& config);

/// From the secret, or a constant where there is none, and from the step of Slurm that the job is.
[[nodiscard]] Key job_key(const TcpConfig& config);

/// Nothing but the kernel's word tells who belongs to the job: there is neither a secret nor MUNGE.
[[nodiscard]] bool is_for_one_user(const TcpConfig& config) noexcept;

/// Without a secret only loopback is allowed: throws MissingConfiguration for any other address.
void require_protection(const TcpConfig& config, const Address& address);

}  // namespace cobre::comm::tcp
