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

/// allgatherv(local): the parts of all ranks, one behind the other, on every rank.
template <class S>
auto allgather_parts(const Blocking& form, const Group& group, S&& local) {
  Gathered<element_t<S>> all;
  const auto from = input(local);
  all.counts = Allgather::run(form, group, from.size());
  all.displs = displacements(all.counts);
  all.values.resize(sum_of(integers_of(all.counts)));
  Allgatherv::run(form, group, from, all.values, all.counts, all.displs);
  return all;
}

/// gatherv(local, root): the same on the root; empty elsewhere.
template <class S>
auto gather_parts(const Blocking& form, const Group& group, S&& local, int root) {
  Gathered<element_t<S>> all;
  const auto from = input(local);
  all.counts = Gather::run(form, group, from.size(), root);
  all.displs = displacements(all.counts);
  all.values.resize(sum_of(integers_of(all.counts)));
  Gatherv::run(form, group, from, all.values, all.counts, all.displs, root);
  return all;
}

/// scatterv(send, counts, root): this rank's part of the root's `send`, whose parts lie one behind the other. Elsewhere
/// `send` and `counts` are ignored.
template <class S, class C>
auto scatter_parts(const Blocking& form, const Group& group, S&& send, const C& counts, int root) {
  const Checks checks(form.operation, group);
  checks.root(root);
  const auto from = input(send);
  std::vector<std::size_t> all;
  if (group.rank == root) {
    if (FERROMPI_CHECKS) check_counts(form.operation, group, integers_of(counts), from.size());
    for (std::size_t r = 0; r < static_cast<std::size_t>(group.size); ++r) {
      all.push_back(static_cast<std::size_t>(at(integers_of(counts), r)));
    }
  }
  std::size_t own = 0;
  Scatter::run(form, group, all, std::span<std::size_t, 1>(&own, 1), root);
  std::vector<element_t<S>> part(own);
  Scatterv::run(form, group, from, all, displacements(all), part, root);
  return part;
}

/// alltoallv(send, counts): what every rank sent to this one, in rank order. The parts of `send` lie one behind the
/// other.
template <class S, class C>
auto exchange_parts(const Blocking& form, const Group& group, S&& send, const C& counts) {
  const Checks checks(form.operation, group);
  const auto from = input(send);
  if (FERROMPI_CHECKS) check_counts(form.operation, group, integers_of(counts), from.size());
  std::vector<std::size_t> sendcounts(static_cast<std::size_t>(group.size));
  for (std::size_t r = 0; r < sendcounts.size(); ++r) {
    sendcounts[r] = static_cast<std::size_t>(at(integers_of(counts), r));
  }
  Gathered<element_t<S>> all;
  all.counts.resize(sendcounts.size());
  Alltoall::run(form, group, sendcounts, all.counts);
  all.displs = displacements(all.counts);
  all.values.resize(sum_of(integers_of(all.counts)));
  Alltoallv::run(form, group, from, sendcounts, displacements(sendcounts), all.values, all.counts, all.displs);
  return all;
}

}  // namespace FERROMPI_VARIANT
}  // namespace detail
}  // namespace ferrompi
