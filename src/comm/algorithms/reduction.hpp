// One allreduce as the algorithms see it: where its elements are, and how they are combined.
#pragma once

#include <cobre/comm/detail/collectives.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace cobre::comm::algorithms {

/// Leaves allreduce on the rank whose callable threw, before anything that depends on its result is sent. The exception
/// of the callable waits in the call and is rethrown above the gate.
struct ReductionThrew {};

class Reduction {
 public:
  explicit Reduction(const detail::AllreduceCall& call) noexcept
      : call_(call), fold_(call.fold()), element_size_(call.element_size) {}

  [[nodiscard]] std::size_t count() const noexcept { return call_.count; }
  [[nodiscard]] std::size_t element_size() const noexcept { return element_size_; }
  [[nodiscard]] std::size_t bytes(std::size_t elements) const noexcept { return elements * element_size_; }
  [[nodiscard]] const std::byte* input(std::size_t element) const noexcept {
    return static_cast<const std::byte*>(call_.send) + bytes(element);
  }
  [[nodiscard]] std::byte* output(std::size_t element) const noexcept {
    return static_cast<std::byte*>(call_.recv) + bytes(element);
  }

  /// `into` may be one of the sources.
  void fold(std::byte* into, std::span<const void* const> sources, std::size_t elements) const {
    fold_.apply(into, sources.data(), sources.size(), elements);
    if (call_.thrown != nullptr && *call_.thrown != nullptr) [[unlikely]]
      throw ReductionThrew{};
  }
  void fold(std::byte* into, const std::byte* left, const std::byte* right, std::size_t elements) const {
    fold(into, std::array<const void*, 2>{left, right}, elements);
  }

  /// Calls `visit(start, elements)` for pieces of at most `bytes`, and at least one element.
  template <class Visit>
  void for_each_piece(std::size_t bytes, Visit&& visit) const {
    const std::size_t piece = std::max<std::size_t>(bytes / element_size_, 1);
    for (std::size_t start = 0; start < count(); start += piece) visit(start, std::min(piece, count() - start));
  }

 private:
  const detail::AllreduceCall& call_;
  detail::Fold fold_;
  std::size_t element_size_;
};

}  // namespace cobre::comm::algorithms
