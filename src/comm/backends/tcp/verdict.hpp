// Why a communicator is finished, for those who ask.
#pragma once

#include <cobre/comm/errors.hpp>

#include <string>

#include "comm/backends/tcp/notices.hpp"

namespace cobre::comm::tcp {

/// For later calls: half a sentence.
[[nodiscard]] std::string explain(const Verdict& verdict);
[[noreturn]] void throw_verdict(const Where& where, const Verdict& verdict);

}  // namespace cobre::comm::tcp
