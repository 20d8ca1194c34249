// Asking the resolver, which keeps to no deadline: it goes from one name server to the next, some seconds each.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "comm/backends/tcp/address.hpp"

namespace cobre::comm::tcp {

/// As resolve(), at most until the deadline. A resolver that has not answered by then goes on in a thread that nobody
/// waits for.
[[nodiscard]] Resolution resolve_by(const std::string& host, std::uint16_t port,
                                    std::chrono::steady_clock::time_point deadline);

}  // namespace cobre::comm::tcp
