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
  [[nodiscard]] Where here(std::string_view operation) const noexcept {
    return {operation, self().rank(), self().size()};
  }
};

}  // namespace cobre::comm::detail
