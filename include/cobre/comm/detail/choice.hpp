// One of several types, held by value; of a single one, nothing but that one.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

namespace cobre::comm::detail {

template <class... Ts>
class Choice {
 public:
  template <class T>
  requires((std::is_same_v<std::remove_cvref_t<T>, Ts> || ...) &&
           std::is_constructible_v<std::remove_cvref_t<T>, T>) explicit Choice(T&& value)
      : value_(std::forward<T>(value)) {}

  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::visit(std::forward<F>(f), value_);
  }
  template <class F>
  decltype(auto) visit(F&& f) {
    return std::visit(std::forward<F>(f), value_);
  }

 private:
  std::variant<Ts...> value_;
};

// Nothing to choose: nothing is dispatched and nothing is stored beside the value.
template <class T>
class Choice<T> {
 public:
  explicit Choice(T&& value) : value_(std::move(value)) {}

  template <class F>
  decltype(auto) visit(F&& f) const {
    return std::forward<F>(f)(value_);
  }
  template <class F>
  decltype(auto) visit(F&& f) {
    return std::forward<F>(f)(value_);
  }

 private:
  [[no_unique_address]] T value_;
};

}  // namespace cobre::comm::detail
