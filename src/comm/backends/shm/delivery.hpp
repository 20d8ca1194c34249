// Gather, scatter and alltoall as one: each rank has a part for some ranks, and gets one from some.
#pragma once

#include <cobre/comm/detail/calls.hpp>

#include <cstddef>
#include <cstdint>

namespace cobre::comm::shm {

/// Where a part lies, in elements.
struct Part {
  std::size_t count;
  std::size_t displ;
};

class Delivery {
 public:
  Delivery(const detail::GatherCall& call, std::size_t rank) noexcept
      : Delivery(Shape::Gather, call, rank, {}, call.parts) {
    root_ = call.root;
    count_ = call.count;
  }
  Delivery(const detail::ScatterCall& call, std::size_t rank) noexcept
      : Delivery(Shape::Scatter, call, rank, call.parts, {}) {
    root_ = call.root;
    count_ = call.count;
  }
  Delivery(const detail::AlltoallCall& call, std::size_t rank) noexcept
      : Delivery(Shape::Alltoall, call, rank, call.from, call.to) {}

  [[nodiscard]] const void* send() const noexcept { return send_; }
  [[nodiscard]] void* recv() const noexcept { return recv_; }
  [[nodiscard]] std::size_t element_size() const noexcept { return element_size_; }
  /// Whether all parts are equally long.
  [[nodiscard]] bool uniform() const noexcept { return (shape_ == Shape::Gather ? to_ : from_).uniform(); }
  [[nodiscard]] bool has_root() const noexcept { return shape_ != Shape::Alltoall; }

  /// Whether `from` has a part, be it of nothing, for `to`.
  [[nodiscard]] bool links(std::size_t from, std::size_t to) const noexcept {
    return !has_root() || (shape_ == Shape::Gather ? to : from) == root_;
  }
  /// What this rank has for another, in its send buffer, and gets from another, in its recv buffer.
  [[nodiscard]] Part outgoing(std::size_t to) const noexcept {
    if (!links(rank_, to)) return {0, 0};
    return shape_ == Shape::Gather ? Part{count_, 0} : Part{from_.count(to), from_.displ(to)};
  }
  [[nodiscard]] Part incoming(std::size_t from) const noexcept {
    if (!links(from, rank_)) return {0, 0};
    return shape_ == Shape::Scatter ? Part{count_, 0} : Part{to_.count(from), to_.displ(from)};
  }

  /// Whether a rank that sends must tell each receiver where its part is, and how long.
  [[nodiscard]] bool needs_table() const noexcept { return !uniform() && shape_ != Shape::Gather; }
  /// Where there is no table: the place of the part for `to` in the buffer of `from`, as it lies there or packed
  /// without what `from` has for itself.
  [[nodiscard]] std::size_t known_displ(std::size_t from, std::size_t to, std::size_t count,
                                        bool packed) const noexcept {
    if (shape_ == Shape::Gather) return 0;
    return count * (packed && to > from ? to - 1 : to);
  }
  /// Of equal parts: the most elements that any rank shows the others.
  [[nodiscard]] std::size_t most_shown(std::size_t ranks) const noexcept {
    if (shape_ == Shape::Gather) return count_;
    return (shape_ == Shape::Scatter ? count_ : from_.count(0)) * (ranks - 1);
  }

 private:
  enum class Shape : std::uint8_t { Gather, Scatter, Alltoall };

  template <class Call>
  Delivery(Shape shape, const Call& call, std::size_t rank, const detail::Parts& from, const detail::Parts& to) noexcept
      : shape_(shape),
        rank_(rank),
        from_(from),
        to_(to),
        send_(call.send),
        recv_(call.recv),
        element_size_(call.element_size) {}

  Shape shape_;
  std::size_t rank_;
  std::size_t root_ = 0;
  std::size_t count_ = 0;  // of the one part that this rank has for, or gets from, the root
  detail::Parts from_;
  detail::Parts to_;
  const void* send_;
  void* recv_;
  std::size_t element_size_;
};

}  // namespace cobre::comm::shm
