// The v-operations in one line: they work out the counts themselves.
#pragma once

#include <cobre/comm/base/gathered.hpp>
#include <ferrompi/collectives/block.hpp>
#include <ferrompi/collectives/vector.hpp>

#include <cstddef>
#include <vector>

namespace ferrompi {

using cobre::comm::Gathered;

/// Where each part begins if the parts lie one behind the other: `{3, 0, 2}` gives `{0, 3, 3}`. In the type of the
/// counts, so that both can be passed on together.
template <class C>
[[nodiscard]] std::vector<detail::integer_t<C>> displacements(const C& counts) {
  using Integer = detail::integer_t<C>;
  static_assert(std::integral<Integer>, "counts are integers");
  detail::require_packed("displacements", {}, counts);
  const std::span<const Integer> given(cobre::comm::detail::data_of(counts), cobre::comm::detail::size_of(counts));
  std::vector<Integer> displs(given.size());
  Integer next = 0;
  for (std::size_t r = 0; r < given.size(); ++r) {
    displs[r] = next;
    if (r + 1 < given.size() && __builtin_add_overflow(next, given[r], &next)) detail::throw_displacement_overflow(r);
  }
  return displs;
}

namespace detail {
inline namespace FERROMPI_VARIANT {

/// Counts of any type as what goes over the wire, which must be the same on every rank: a copy only where they differ.
template <class C>
auto wide_counts(const C& counts) {
  const std::span given(cobre::comm::detail::data_of(counts), cobre::comm::detail::size_of(counts));
  if constexpr (std::same_as<integer_t<C>, std::size_t>) {
    return std::span<const std::size_t>(given);
  } else {
    std::vector<std::size_t> wide(given.size());
    for (std::size_t r = 0; r < wide.size(); ++r) wide[r] = static_cast<std::size_t>(given[r]);
    return wide;
  }
}

/// Where parts of these lengths begin, one behind the other, and where the last ends. They are lengths of buffers that
/// exist, so nothing overflows.
FERROMPI_INLINE std::size_t lay_out(std::span<const std::size_t> counts, std::vector<std::size_t>& displs) {
  std::size_t next = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    displs[r] = next;
    next += counts[r];
  }
  return next;
}

/// Counts and displacements for so many parts, and no values yet.
template <class T>
FERROMPI_INLINE Gathered<T> room_for(std::size_t parts) {
  return {{}, std::vector<std::size_t>(parts), std::vector<std::size_t>(parts)};
}

/// allgatherv(local): the parts of all ranks, one behind the other, on every rank.
template <class S>
FERROMPI_INLINE auto allgather_parts(const Blocking& form, const Group& group, S&& local) {
  const auto from = input(local);
  const std::size_t own = from.size();
  auto all = room_for<element_t<S>>(static_cast<std::size_t>(group.size));
  Allgather::run(form, group, std::span<const std::size_t, 1>(&own, 1), all.counts);
  all.values = std::vector<element_t<S>>(lay_out(all.counts, all.displs));
  Allgatherv::gather_behind<element_t<S>>(form, group, from, all.values, all.counts, all.displs);
  return all;
}

/// gatherv(local, root): the same on the root; empty elsewhere.
template <class S>
FERROMPI_INLINE auto gather_parts(const Blocking& form, const Group& group, S&& local, int root) {
  const auto from = input(local);
  const std::size_t own = from.size();
  auto all = room_for<element_t<S>>(group.rank == root ? static_cast<std::size_t>(group.size) : 0);
  Gather::run(form, group, std::span<const std::size_t, 1>(&own, 1), all.counts, root);
  if (group.rank == root) all.values = std::vector<element_t<S>>(lay_out(all.counts, all.displs));
  Gatherv::gather(form, group, const_cast<element_t<S>*>(from.data()), own, std::span(all.values), all.counts,
                  all.displs, root);
  return all;
}

/// scatterv(send, counts, root): this rank's part of the root's `send`, whose parts lie one behind the other. Elsewhere
/// `send` and `counts` are ignored.
template <class S, class C>
FERROMPI_INLINE auto scatter_parts(const Blocking& form, const Group& group, S&& send, const C& counts, int root) {
  const Checks checks(form.operation, group);
  checks.root(root);
  const auto from = input(send);
  const bool is_root = group.rank == root;
  if (FERROMPI_CHECKS && is_root) check_counts(form.operation, group, integers_of(counts), from.size());
  const auto all = wide_counts(counts);
  std::size_t own = 0;
  Scatter::run(form, group, all, std::span<std::size_t, 1>(&own, 1), root);
  std::vector<element_t<S>> part(own);
  std::vector<std::size_t> displs(is_root ? all.size() : 0);
  if (is_root) lay_out(all, displs);
  Scatterv::scatter(form, group, part.data(), own, std::span<const element_t<S>>(from), all, displs, root);
  return part;
}

/// alltoallv(send, counts): what every rank sent to this one, in rank order. The parts of `send` lie one behind the
/// other.
template <class S, class C>
FERROMPI_INLINE auto exchange_parts(const Blocking& form, const Group& group, S&& send, const C& counts) {
  const Checks checks(form.operation, group);
  const auto from = input(send);
  if (FERROMPI_CHECKS) check_counts(form.operation, group, integers_of(counts), from.size());
  const auto sendcounts = wide_counts(counts);
  auto all = room_for<element_t<S>>(sendcounts.size());
  Alltoall::run(form, group, sendcounts, all.counts);
  all.values = std::vector<element_t<S>>(lay_out(all.counts, all.displs));
  std::vector<std::size_t> displs(sendcounts.size());
  lay_out(sendcounts, displs);
  Alltoallv::move(form, group, std::span<const element_t<S>>(from), sendcounts, displs, std::span(all.values),
                  all.counts, all.displs);
  return all;
}

}  // namespace FERROMPI_VARIANT
}  // namespace detail
}  // namespace ferrompi
