// What plain C needs for lengths that are known only at run time.
#pragma once

#include <ferrompi/detail/mpi.hpp>

#include "regions.hpp"

#include <climits>
#include <cstddef>

namespace {

inline bool fits(std::size_t length) {
  return length <= INT_MAX;
}

// How plain C moves more than an int counts: elements that are combined go by pieces, others as one element of a type
// that describes them all. Never called here, but the compiler cannot know.
template <class Call>
[[gnu::cold, gnu::noinline]] int by_pieces(std::size_t length, Call call) {
  constexpr std::size_t piece = INT_MAX;
  std::size_t from = 0;
  for (; length - from > piece; from += piece) checked(call(from, INT_MAX));
  return call(from, static_cast<int>(length - from));
}

template <class Call>
[[gnu::cold, gnu::noinline]] int as_one_element(std::size_t length, Call call) {
  constexpr std::size_t piece = std::size_t{1} << 30;
  MPI_Datatype piece_type;
  MPI_Datatype whole;
  checked(MPI_Type_contiguous(static_cast<int>(piece), MPI_DOUBLE, &piece_type));
  const int lengths[] = {static_cast<int>(length / piece), static_cast<int>(length % piece)};
  const MPI_Aint offsets[] = {0, static_cast<MPI_Aint>(length / piece * piece * sizeof(double))};
  const MPI_Datatype types[] = {piece_type, MPI_DOUBLE};
  checked(MPI_Type_create_struct(2, lengths, offsets, types, &whole));
  checked(MPI_Type_commit(&whole));
  const int code = call(whole);
  checked(MPI_Type_free(&whole));
  checked(MPI_Type_free(&piece_type));
  return code;
}

inline int as_int(std::size_t length) {
  return static_cast<int>(length);
}
// Libraries without 64-bit counts multiply the length of a block by the number of ranks in int.
inline bool blocks_fit(std::size_t length, const Plain& c) {
  return fits(ferrompi::detail::has_large_counts ? length : length * static_cast<std::size_t>(c.size));
}

}  // namespace
