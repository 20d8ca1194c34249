// An operation in words, and ranks that do not mean the same one.
#pragma once

#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/errors.hpp>

#include <span>
#include <string>

namespace cobre::comm::core {

/// "allreduce of 4 x double with Sum", "broadcast of 10 elements of 24 bytes from root 2".
std::string describe(const detail::OperationRecord& record);

/// Throws CollectiveMismatch where the records, one a rank, are not all the same. Those in the minority are named as
/// disagreeing; with two ranks both.
void require_agreement(const Where& where, std::span<const detail::OperationRecord> records);

}  // namespace cobre::comm::core
