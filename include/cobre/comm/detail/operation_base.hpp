// What every part of the collective interface (collectives.hpp) knows of the backend below it.
#pragma once

#include <cobre/comm/errors.hpp>

#include <string_view>

namespace cobre::comm::detail {

/// The parts derive from one another and not each from this, so that a backend has this base once.
template <class Backend>
class OperationBase {
 protected:
  ~OperationBase() = default;
  OperationBase() = default;
  OperationBase(OperationBase&&) = default;
  OperationBase& operator=(OperationBase&&) = default;

  [[nodiscard]] const Backend& self() const noexcept { return static_cast<const Backend&>(*this); }
  /// Of the operation that is called; who only checks the arguments of another one says which that is.
  [[nodiscard]] Where here(std::string_view operation) const noexcept {
    if constexpr (requires { self().checks_for(); }) operation = self().checks_for();
    return {operation, self().rank(), self().size()};
  }
};

}  // namespace cobre::comm::detail
