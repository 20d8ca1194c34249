// Communicators made of communicators, written once: the ranks tell each other where they want to stand, and the
// backend makes the part.
//
// A backend derives from Splitting<Backend>, beside Collectives<Backend>, and implements
//   std::optional<Backend> make_part(const Division&)
// which is collective over the whole communicator and leaves it good whatever becomes of the parts.
#pragma once

#include <cobre/comm/detail/collectives.hpp>
#include <cobre/comm/detail/division.hpp>

#include <cstddef>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cobre::comm {

/// The colour of a rank that joins no part of a split. Any other negative number means the same.
inline constexpr int undefined_color = -1;

namespace detail {

template <class Backend>
class Splitting {
 public:
  /// Collective. One communicator for each colour, its ranks ordered by key, ties by their rank here; none for a
  /// negative colour. Each part is a communicator in its own right: it may be used by another thread at the same time,
  /// and outlive this one.
  [[nodiscard]] std::optional<Backend> split(int color, int key = 0) const {
    return divide_by(Operation::Split, {color, key});
  }

  /// Collective. The same ranks once more.
  [[nodiscard]] Backend duplicate() const { return own(divide_by(Operation::Duplicate, {0, 0})); }

  /// Collective. The ranks of this host.
  [[nodiscard]] Backend node() const {
    const auto host = static_cast<int>(self().topology().host_index_of(self().rank()));
    return own(divide_by(Operation::Node, {host, 0}));
  }

 protected:
  ~Splitting() = default;
  Splitting() = default;
  Splitting(Splitting&&) = default;
  Splitting& operator=(Splitting&&) = default;

 private:
  [[nodiscard]] const Backend& self() const noexcept { return static_cast<const Backend&>(*this); }

  // Every rank that gives a colour gets a part.
  [[nodiscard]] static Backend own(std::optional<Backend> part) {
    if (!part) throw std::logic_error("a communicator was divided and this rank left out, against its wish");
    return std::move(*part);
  }

  [[nodiscard]] std::optional<Backend> divide_by(Operation operation, Seat seat) const {
    const std::size_t size = self().size();
    const OperationRecord record{.operation = operation, .element_size = sizeof(Seat), .count = size};
    std::vector<Seat> seats(size);
    const std::vector<std::size_t> ones(size, 1);
    std::vector<std::size_t> places(size);
    std::iota(places.begin(), places.end(), std::size_t{0});
    self().conduct(record, AllgathervCall{&seat, seats.data(), ones, places, sizeof(Seat)});
    return self().make_part(divide({to_string(operation), self().rank(), size}, record, seats));
  }
};

}  // namespace detail
}  // namespace cobre::comm
