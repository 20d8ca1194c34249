// An operation in words.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include <string>

namespace cobre::comm::core {

/// The same operation, of a request or plan: a record has no other place for it, and only one that is about to be
/// described needs it.
[[nodiscard]] constexpr detail::OperationRecord beside(detail::OperationRecord record) noexcept {
  record.reproducible |= 0x80;
  return record;
}
[[nodiscard]] constexpr bool is_beside(const detail::OperationRecord& record) noexcept {
  return (record.reproducible & 0x80) != 0;
}

/// "allreduce of 4 x double with Sum", "broadcast of 10 elements of 24 bytes from root 2", "nonblocking barrier".
std::string describe(const detail::OperationRecord& record);

}  // namespace cobre::comm::core
