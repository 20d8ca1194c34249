// What plain C needs for parts whose lengths it learns from the other ranks. They are lengths of containers, so they
// are exchanged and handed on as std::size_t; MPI 4 takes them as they are. Before, only MPI_Alltoallw can move parts
// beyond an int, and since no rank knows the counts of all others, all have to call it for those within.
#pragma once

#include "plain.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace {

struct Parts {
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
  std::vector<double> values{};

  explicit Parts(std::size_t ranks) : counts(ranks), displs(ranks) {}

  // The counts have arrived: where the parts begin, and room for them.
  void make_room() { values = std::vector<double>(lay_out(counts, displs)); }

  static std::size_t lay_out(std::span<const std::size_t> counts, std::vector<std::size_t>& displs) {
    std::size_t next = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      displs[r] = next;
      next += counts[r];
    }
    return next;
  }
};

#if MPI_VERSION >= 4

inline const MPI_Count* as_counts(const std::size_t* counts) {
  return reinterpret_cast<const MPI_Count*>(counts);
}
inline const MPI_Aint* as_places(const std::size_t* displs) {
  return reinterpret_cast<const MPI_Aint*>(displs);
}

#else

// Kept from call to call.
struct Arrays {
  std::size_t ranks;
  int* integers;
  MPI_Datatype* types;
};
thread_local Arrays kept;

[[gnu::cold, gnu::noinline]] void grow(std::size_t ranks) {
  kept = {ranks, new int[4 * ranks], new MPI_Datatype[2 * ranks]};
}

// One side of MPI_Alltoallw: what is for nobody, for one rank, for each.
struct Side {
  int* counts;
  int* displs;
  MPI_Datatype* types;

  void none(std::size_t size) const {
    for (std::size_t r = 0; r < size; ++r) {
      counts[r] = displs[r] = 0;
      types[r] = MPI_DOUBLE;
    }
  }
  [[nodiscard]] bool one(std::size_t size, std::size_t count, int peer) const {
    none(size);
    counts[peer] = as_int(count);
    return fits(count);
  }
  [[nodiscard]] bool each(std::size_t size, const std::size_t* lengths, const std::size_t* places) const {
    std::size_t bits = 0;
    for (std::size_t r = 0; r < size; ++r) {
      const auto offset = places[r] * sizeof(double);
      counts[r] = as_int(lengths[r]);
      displs[r] = as_int(offset);
      types[r] = MPI_DOUBLE;
      bits |= lengths[r] | offset;
    }
    return fits(bits);
  }
};

struct Exchange {
  Side send;
  Side recv;

  explicit Exchange(std::size_t size) {
    if (kept.ranks < size) [[unlikely]] {
      grow(size);
    }
    send = {kept.integers, kept.integers + size, kept.types};
    recv = {kept.integers + 2 * size, kept.integers + 3 * size, kept.types + size};
  }

  int run(const double* from, double* to, MPI_Comm comm) const {
    return MPI_Alltoallw(from, send.counts, send.displs, send.types, to, recv.counts, recv.displs, recv.types, comm);
  }
};

// A part that an int cannot count or place, as one element of a type that knows both.
MPI_Datatype placed(std::size_t count, std::size_t place) {
  constexpr std::size_t piece = std::size_t{1} << 30;
  MPI_Datatype piece_type;
  MPI_Datatype whole;
  checked(MPI_Type_contiguous(static_cast<int>(piece), MPI_DOUBLE, &piece_type));
  const int lengths[] = {as_int(count / piece), as_int(count % piece)};
  const auto begin = static_cast<MPI_Aint>(place * sizeof(double));
  const MPI_Aint offsets[] = {begin, begin + static_cast<MPI_Aint>(count / piece * piece * sizeof(double))};
  const MPI_Datatype types[] = {piece_type, MPI_DOUBLE};
  checked(MPI_Type_create_struct(2, lengths, offsets, types, &whole));
  checked(MPI_Type_commit(&whole));
  checked(MPI_Type_free(&piece_type));
  return whole;
}

// The parts of one side in 64 bits: one for each rank, or one for `peer`.
struct Lengths {
  const std::size_t* counts = nullptr;
  const std::size_t* displs = nullptr;
  std::size_t count = 0;
  std::size_t peer = 0;
};

// Never called here, but the compiler cannot know.
[[gnu::cold, gnu::noinline]] int exchange_large(const double* from, const Lengths& send, double* to,
                                                const Lengths& recv, const Plain& c) {
  const auto size = static_cast<std::size_t>(c.size);
  const Exchange exchange(size);
  const auto place_all = [size](const Side& side, const Lengths& parts) {
    side.none(size);
    for (std::size_t r = 0; r < size; ++r) {
      const std::size_t one = r == parts.peer ? parts.count : 0;
      const std::size_t count = parts.counts != nullptr ? parts.counts[r] : one;
      if (count == 0) continue;
      side.types[r] = placed(count, parts.displs != nullptr ? parts.displs[r] : 0);
      side.counts[r] = 1;
    }
  };
  place_all(exchange.send, send);
  place_all(exchange.recv, recv);
  const int code = exchange.run(from, to, c.comm);
  for (std::size_t r = 0; r < size; ++r) {
    if (exchange.send.counts[r] != 0) checked(MPI_Type_free(&exchange.send.types[r]));
    if (exchange.recv.counts[r] != 0) checked(MPI_Type_free(&exchange.recv.types[r]));
  }
  return code;
}

#endif

inline std::size_t ranks_of(const Plain& c) {
  return static_cast<std::size_t>(c.size);
}

// The v-operations of plain C with 64-bit counts. `counts` and `displs` are the root's alone where there is one.
inline int gatherv(const double* send, std::size_t count, double* recv, const std::size_t* counts,
                   const std::size_t* displs, int root, const Plain& c) {
#if MPI_VERSION >= 4
  return MPI_Gatherv_c(send, static_cast<MPI_Count>(count), MPI_DOUBLE, recv, as_counts(counts), as_places(displs),
                       MPI_DOUBLE, root, c.comm);
#else
  const auto size = ranks_of(c);
  const Exchange exchange(size);
  bool small = exchange.send.one(size, count, root);
  if (c.rank == root) {
    small &= exchange.recv.each(size, counts, displs);
  } else {
    exchange.recv.none(size);
  }
  if (small) [[likely]] {
    return exchange.run(send, recv, c.comm);
  }
  return exchange_large(send, {.count = count, .peer = static_cast<std::size_t>(root)}, recv, {counts, displs}, c);
#endif
}

inline int scatterv(const double* send, const std::size_t* counts, const std::size_t* displs, double* recv,
                    std::size_t count, int root, const Plain& c) {
#if MPI_VERSION >= 4
  return MPI_Scatterv_c(send, as_counts(counts), as_places(displs), MPI_DOUBLE, recv, static_cast<MPI_Count>(count),
                        MPI_DOUBLE, root, c.comm);
#else
  const auto size = ranks_of(c);
  const Exchange exchange(size);
  bool small = exchange.recv.one(size, count, root);
  if (c.rank == root) {
    small &= exchange.send.each(size, counts, displs);
  } else {
    exchange.send.none(size);
  }
  if (small) [[likely]] {
    return exchange.run(send, recv, c.comm);
  }
  return exchange_large(send, {counts, displs}, recv, {.count = count, .peer = static_cast<std::size_t>(root)}, c);
#endif
}

inline int alltoallv(const double* send, const std::size_t* counts, const std::size_t* displs, double* recv,
                     const std::size_t* recvcounts, const std::size_t* rdispls, const Plain& c) {
#if MPI_VERSION >= 4
  return MPI_Alltoallv_c(send, as_counts(counts), as_places(displs), MPI_DOUBLE, recv, as_counts(recvcounts),
                         as_places(rdispls), MPI_DOUBLE, c.comm);
#else
  const auto size = ranks_of(c);
  const Exchange exchange(size);
  if (exchange.send.each(size, counts, displs) && exchange.recv.each(size, recvcounts, rdispls)) [[likely]] {
    return exchange.run(send, recv, c.comm);
  }
  return exchange_large(send, {counts, displs}, recv, {recvcounts, rdispls}, c);
#endif
}

// Every rank knows all counts here, so all know whether their sum is within an int. (MPICH hardly gets on beyond it.)
[[gnu::cold, gnu::noinline]] int allgatherv_large(const double* send, std::size_t count, double* whole,
                                                  const std::size_t* counts, const std::size_t* displs,
                                                  const Plain& c) {
  for (std::size_t r = 0; r < ranks_of(c); ++r) {
    double* const part = whole + displs[r];
    if (static_cast<int>(r) == c.rank) std::copy_n(send, count, part);
    checked(as_one_element(counts[r],
                           [=, &c](MPI_Datatype all) { return MPI_Bcast(part, 1, all, static_cast<int>(r), c.comm); }));
  }
  return MPI_SUCCESS;
}
inline int allgatherv(const double* send, std::size_t count, double* whole, std::size_t total,
                      const std::size_t* counts, const std::size_t* displs, const Plain& c) {
  if (!fits(total)) [[unlikely]] {
    return allgatherv_large(send, count, whole, counts, displs, c);
  }
#if MPI_VERSION >= 4
  if (ferrompi::detail::ignores_a_single_displacement && c.size == 1) [[unlikely]] {
    return allgatherv_large(send, count, whole, counts, displs, c);
  }
  return MPI_Allgatherv_c(send, static_cast<MPI_Count>(count), MPI_DOUBLE, whole, as_counts(counts), as_places(displs),
                          MPI_DOUBLE, c.comm);
#else
  const auto size = ranks_of(c);
  const Exchange arrays(size);
  for (std::size_t r = 0; r < size; ++r) {
    arrays.recv.counts[r] = as_int(counts[r]);
    arrays.recv.displs[r] = as_int(displs[r]);
  }
  return MPI_Allgatherv(send, as_int(count), MPI_DOUBLE, whole, arrays.recv.counts, arrays.recv.displs, MPI_DOUBLE,
                        c.comm);
#endif
}

// Where the caller places the parts, the length of the buffer does not tell how many elements there are, and a
// displacement may be beyond an int where no count is.
template <std::size_t Ranks>
inline int allgatherv_anywhere(const double* send, std::size_t count, double* whole,
                               const std::array<std::size_t, Ranks>& counts,
                               const std::array<std::size_t, Ranks>& displs, const Plain& c) {
  std::size_t total = 0;
  for (const auto part : counts) total += part;
#if MPI_VERSION >= 4
  return allgatherv(send, count, whole, total, counts.data(), displs.data(), c);
#else
  const auto size = ranks_of(c);
  const Exchange arrays(size);
  std::size_t bits = total;
  for (std::size_t r = 0; r < size; ++r) {
    arrays.recv.counts[r] = as_int(counts[r]);
    arrays.recv.displs[r] = as_int(displs[r]);
    bits |= displs[r];
  }
  if (!fits(bits)) [[unlikely]] {
    return allgatherv_large(send, count, whole, counts.data(), displs.data(), c);
  }
  return MPI_Allgatherv(send, as_int(count), MPI_DOUBLE, whole, arrays.recv.counts, arrays.recv.displs, MPI_DOUBLE,
                        c.comm);
#endif
}

// The whole everywhere, of which each rank keeps its part.
[[gnu::cold, gnu::noinline]] int reduce_scatter_large(const double* send, double* recv, std::size_t total,
                                                      const std::size_t* counts, const Plain& c) {
  std::vector<double> whole(total);
  const int code = by_pieces(total, [&](std::size_t from, int count) {
    return MPI_Allreduce(send + from, whole.data() + from, count, MPI_DOUBLE, MPI_SUM, c.comm);
  });
  std::size_t before = 0;
  for (int r = 0; r < c.rank; ++r) before += counts[r];
  std::copy_n(whole.data() + before, counts[c.rank], recv);
  return code;
}
inline int reduce_scatter(const double* send, double* recv, std::size_t total, const std::size_t* counts,
                          const Plain& c) {
  if (!fits(total)) [[unlikely]] {
    return reduce_scatter_large(send, recv, total, counts, c);
  }
#if MPI_VERSION >= 4
  return MPI_Reduce_scatter_c(send, recv, as_counts(counts), MPI_DOUBLE, MPI_SUM, c.comm);
#else
  const auto size = ranks_of(c);
  const Exchange arrays(size);
  for (std::size_t r = 0; r < size; ++r) arrays.recv.counts[r] = as_int(counts[r]);
  return MPI_Reduce_scatter(send, recv, arrays.recv.counts, MPI_DOUBLE, MPI_SUM, c.comm);
#endif
}

}  // namespace
