// The life of one rank of a job, in a process of its own.
#pragma once

#include <string>

#include "crash/job.hpp"

namespace crash {

/// Never returns: the process ends with it, with code 0 where it has reported.
[[noreturn]] void live(const Plan& plan, const std::string& name, std::size_t rank, Board& board);

}  // namespace crash
