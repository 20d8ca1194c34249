// A region of one of several kinds, as one kind.
#pragma once

#include <cobre/comm/detail/choice.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace cobre::comm::detail {

template <class T, class... Regions>
class ChosenRegion {
 public:
  template <class R>
  requires(std::same_as<std::remove_cvref_t<R>, Regions> || ...) explicit ChosenRegion(R&& region)
      : region_(std::forward<R>(region)) {}

  [[nodiscard]] std::size_t size() const {
    return region_.visit([](const auto& region) { return region.size(); });
  }
  [[nodiscard]] std::span<const T> as_span() const& {
    return region_.visit([](const auto& region) { return region.as_span(); });
  }
  std::span<const T> as_span() const&& = delete;  // a view of a region that dies with the expression
  [[nodiscard]] std::span<T> as_mut_span() & {
    return region_.visit([](auto& region) { return region.as_mut_span(); });
  }
  [[nodiscard]] std::span<T> as_partition_span() & {
    return region_.visit([](auto& region) { return region.as_partition_span(); });
  }
  /// Collective over the ranks that share the pages.
  void fence() const {
    region_.visit([](const auto& region) { region.fence(); });
  }

 private:
  Choice<Regions...> region_;
};

}  // namespace cobre::comm::detail
