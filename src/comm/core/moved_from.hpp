// A backend owns what it works with through one pointer, which is null once the backend was moved from.
#pragma once

#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/errors.hpp>

#include <string_view>

namespace cobre::comm::core {

[[noreturn, gnu::cold]] inline void throw_moved_from(std::string_view operation) {
  throw InvalidCommunicator({operation, 0, 1}, "it was moved from; use the one that it was moved to");
}

[[noreturn, gnu::cold]] inline void throw_region_moved_from(const Where& where) {
  throw InvalidCommunicator(where, "the region was moved from; use the one that it was moved to");
}

/// What `owner` points to, or InvalidCommunicator.
template <class Owner>
[[nodiscard]] auto& require_owned(const Owner& owner, const char* operation) {
  if (owner == nullptr) [[unlikely]]
    throw_moved_from(operation);
  return *owner;
}
template <class Owner>
[[nodiscard]] auto& require_owned(const Owner& owner, const detail::OperationRecord& record) {
  if (owner == nullptr) [[unlikely]]
    throw_moved_from(detail::to_string(record.operation));
  return *owner;
}

}  // namespace cobre::comm::core
