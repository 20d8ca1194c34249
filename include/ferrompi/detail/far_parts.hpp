// Parts that lie further apart than an int counts, for libraries that place them by one.
#pragma once

#include <ferrompi/datatype.hpp>
#include <ferrompi/detail/group.hpp>
#include <ferrompi/detail/hold.hpp>
#include <ferrompi/detail/layout.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>

namespace ferrompi::detail {

/// The counts and places of parts that an int counts as ints; a part of nothing is at the front, wherever it was said
/// to lie. False if an int does not hold every place.
[[nodiscard]] bool place_parts(const Segments& parts, std::size_t ranks, int* counts, int* displs);

/// What MPI would have copied: of a struct the members that travel.
template <class T>
void copy_travelling(const T& from, T& to) {
  if constexpr (std::is_array_v<T> || ArrayTraits<T>::is_array) {
    for (std::size_t i = 0; i < std::size(from); ++i) copy_travelling(from[i], to[i]);
  } else if constexpr (has_members<T>) {
    std::apply([&](auto... member) { (copy_travelling(from.*member, to.*member), ...); }, members<T>);
  } else {
    std::memcpy(static_cast<void*>(std::addressof(to)), static_cast<const void*>(std::addressof(from)), sizeof(T));
  }
}

inline namespace FERROMPI_VARIANT {

/// The arguments of a gather into memory of our own, where the parts lie one behind the other; at the end they go to
/// their places. Who gathers in place sends its part from there.
template <class Args, class T>
Args gather_aside(Args args, const Group& group, std::span<T> whole, const Segments& parts, Hold& hold) {
  const auto size = static_cast<std::size_t>(group.size);
  hold.narrow.resize(2 * size);
  hold.wide.resize(size);
  int* const counts = hold.narrow.data();
  int* const displs = counts + size;
  MPI_Count* const places = hold.wide.data();
  int total = 0;
  for (std::size_t r = 0; r < size; ++r) {
    counts[r] = static_cast<int>(at(parts.counts, r));
    displs[r] = total;
    total += counts[r];
    places[r] = at(parts.displs, r);
  }
  if (args.single == MPI_IN_PLACE) {
    args.count = static_cast<std::size_t>(counts[group.rank]);
    args.single = args.count == 0 ? nullptr : whole.data() + places[group.rank];
  }
  const std::shared_ptr<T[]> aside = std::make_shared_for_overwrite<T[]>(static_cast<std::size_t>(total));
  args.whole = aside.get();
  args.layout = {counts, displs};
  hold.finish = [=] {
    for (std::size_t r = 0; r < size; ++r) {
      for (int i = 0; i < counts[r]; ++i)
        copy_travelling(aside[displs[r] + i], whole[static_cast<std::size_t>(places[r] + i)]);
    }
  };
  return args;
}

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
