// An operation in words.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include <string>

namespace cobre::comm::core {

/// "allreduce of 4 x double with Sum", "broadcast of 10 elements of 24 bytes from root 2".
std::string describe(const detail::OperationRecord& record);

}  // namespace cobre::comm::core
