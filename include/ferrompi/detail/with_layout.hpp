// Counts and displacements on their way to MPI: passed as they are where possible.
#pragma once

#include <ferrompi/detail/buffers.hpp>
#include <ferrompi/detail/checks.hpp>
#include <ferrompi/detail/engine.hpp>
#include <ferrompi/detail/layout.hpp>

#include <array>

namespace ferrompi::detail {
inline namespace FERROMPI_VARIANT {

/// Counts that MPI reads as they are: int everywhere, and 64-bit integers where MPI counts in them. The latter may be
/// another integer type of the same size; MPI only reads the bits, in code that the compiler does not see.
template <class... Ranges>
inline constexpr bool all_int = (std::same_as<integer_t<Ranges>, int> && ...);
template <class... Ranges>
inline constexpr bool all_wide = has_large_counts && ((sizeof(integer_t<Ranges>) == sizeof(MPI_Count)) && ...);

template <class C, class D>
FERROMPI_INLINE Layout as_it_is(const C& counts, const D& displs) {
  using cobre::comm::detail::data_of;
  if constexpr (all_int<C, D>) {
    return {data_of(counts), data_of(displs)};
  } else {
    return {nullptr, nullptr, reinterpret_cast<const MPI_Count*>(data_of(counts)),
            reinterpret_cast<const MPI_Aint*>(data_of(displs))};
  }
}

/// Calls `body` with the layouts of `N` buffers. `ranges` are counts and displacements in turn.
template <std::size_t N, class Form, class Body, class... Ranges>
auto with_converted(Form& form, const Group& group, Body body, const Ranges&... ranges) {
  constexpr bool to_wide = has_large_counts && (may_exceed_int<Ranges> || ...);
  const Integers integers[] = {integers_of(ranges)...};
  std::array<Segments, N> segments;
  for (std::size_t k = 0; k < N; ++k) segments[k] = {integers[2 * k], integers[2 * k + 1]};
  std::array<Layout, N> layouts;
  if constexpr (is_blocking<Form>) {
    ThreadStorage storage;
    convert(form.operation, group, segments, to_wide, storage, layouts);
    return body(layouts);
  } else {
    convert(form.operation, group, segments, to_wide, storage_of(ensure(form.hold)), layouts);
    return body(layouts);
  }
}

/// 64-bit integers as ints; false where one is more than that.
FERROMPI_INLINE bool narrow(const Segments& segments, std::size_t size, int* counts, int* displs) {
  std::uint64_t bits = 0;
  for (std::size_t r = 0; r < size; ++r) {
    const auto count = wide_at(segments.counts, r);
    const auto displ = wide_at(segments.displs, r);
    counts[r] = static_cast<int>(count);
    displs[r] = static_cast<int>(displ);
    bits |= count | displ;
  }
  return bits <= INT_MAX;
}

/// Calls `body` with the form and the layout.
template <class Form, class C, class D, class Body>
FERROMPI_INLINE auto with_layout(Form& form, const Group& group, const C& counts, const D& displs, Body body) {
  if constexpr (is_blocking<Form> && (all_int<C, D> || all_wide<C, D>)) {
    return body(form, as_it_is(counts, displs));
  } else {
    return with_converted<1>(
        form, group, [&](const auto& layouts) { return body(form, layouts[0]); }, counts, displs);
  }
}

template <class Form, class C, class D, class E, class F, class Body>
FERROMPI_INLINE auto with_layouts(Form& form, const Group& group, const C& counts, const D& displs, const E& counts_2,
                                  const F& displs_2, Body body) {
  if constexpr (is_blocking<Form> && (all_int<C, D, E, F> || all_wide<C, D, E, F>)) {
    return body(as_it_is(counts, displs), as_it_is(counts_2, displs_2));
  } else {
    return with_converted<2>(
        form, group, [&](const auto& layouts) { return body(layouts[0], layouts[1]); }, counts, displs, counts_2,
        displs_2);
  }
}

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
