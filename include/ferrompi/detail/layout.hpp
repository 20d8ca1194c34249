// Counts and displacements of the v-operations: any integral type in, what MPI wants out.
//
// MPI reads int arrays, or 64-bit arrays with MPI 4. What is already of the right type is passed as it is; anything
// else is converted into memory that a blocking call borrows from its thread and any other call keeps.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <ferrompi/detail/group.hpp>
#include <ferrompi/detail/hold.hpp>
#include <ferrompi/detail/mpi.hpp>

#include <climits>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace ferrompi::detail {

/// An array of integers of any type.
struct Integers {
  const void* data = nullptr;
  std::size_t size = 0;
  unsigned width = sizeof(int);
  bool is_signed = true;
};

template <class R>
using integer_t = cobre::comm::detail::element_t<R>;

template <class R>
Integers integers_of(const R& range) {
  static_assert(std::integral<integer_t<R>> && !std::same_as<integer_t<R>, bool>,
                "counts and displacements are contiguous ranges of integers, such as std::vector<int> or "
                "std::vector<std::size_t>");
  return {cobre::comm::detail::data_of(range), cobre::comm::detail::size_of(range), sizeof(integer_t<R>),
          std::is_signed_v<integer_t<R>>};
}

/// Where each rank's part lies in a buffer.
struct Segments {
  Integers counts;
  Integers displs;
};

/// Whether a value of this type may be more than an int. Without 64-bit counts, gatherv, scatterv and alltoallv choose
/// their algorithm by it, because it is all that every rank knows: the type must be the same on every rank.
template <class R>
inline constexpr bool may_exceed_int = sizeof(integer_t<R>) > sizeof(int) ||
                                       (sizeof(integer_t<R>) == sizeof(int) && std::is_unsigned_v<integer_t<R>>);

/// Throws InvalidBuffer unless there is one segment a rank, each inside a buffer of `length` elements, and disjoint if
/// the buffer is written.
void check_segments(const char* operation, const Group& group, const Segments& segments, std::size_t length,
                    bool written);
/// Throws InvalidBuffer unless there is one count a rank, and their sum is `length`.
void check_counts(const char* operation, const Group& group, const Integers& counts, std::size_t length);
/// Throws InvalidBuffer unless this rank's count is the length of what it passes.
void check_own_count(const char* operation, const Group& group, const Integers& counts, std::size_t length);
[[noreturn]] void throw_displacement_overflow(std::size_t rank);
[[noreturn]] void throw_count_too_large(const char* operation, const Group& group, std::size_t count);

template <class R>
[[nodiscard]] FERROMPI_INLINE std::size_t total_of(const R& range) {
  std::size_t total = 0;
  const auto* const values = cobre::comm::detail::data_of(range);
  for (std::size_t i = 0, n = cobre::comm::detail::size_of(range); i < n; ++i)
    total += static_cast<std::size_t>(values[i]);
  return total;
}
[[nodiscard]] std::int64_t at(const Integers& integers, std::size_t i);

/// Counts and displacements as MPI wants them: either the int or the 64-bit arrays.
struct Layout {
  const int* counts = nullptr;
  const int* displs = nullptr;
  const MPI_Count* wide_counts = nullptr;
  const MPI_Aint* wide_displs = nullptr;

  [[nodiscard]] bool wide() const noexcept { return wide_counts != nullptr; }

  template <class Count>
  [[nodiscard]] auto counts_as() const noexcept {
    if constexpr (std::is_same_v<Count, int>) {
      return counts;
    } else {
      return wide_counts;
    }
  }
  template <class Count>
  [[nodiscard]] auto displs_as() const noexcept {
    if constexpr (std::is_same_v<Count, int>) {
      return displs;
    } else {
      return wide_displs;
    }
  }
};

/// Memory for converted arrays and for datatypes that live as long as the call.
struct LayoutStorage {
  std::vector<int>& narrow;
  std::vector<MPI_Count>& wide;
  std::vector<MPI_Datatype>& handles;  // arrays of datatypes
  std::vector<MPI_Datatype>& types;    // datatypes to free
};

/// What a blocking call borrows from its thread: nothing is allocated once it has grown to the size of the
/// communicator.
class ThreadStorage {
 public:
  ThreadStorage();
  ~ThreadStorage();
  ThreadStorage(const ThreadStorage&) = delete;
  ThreadStorage& operator=(const ThreadStorage&) = delete;

  operator LayoutStorage() noexcept;  // NOLINT: a view of itself

 private:
  void* memory_;
};

/// The same for arrays that are filled where the call is made: no function of the library on the way.
struct ThreadArrays {
  std::size_t ranks = 0;
  int* integers = nullptr;        // four for each rank
  MPI_Datatype* types = nullptr;  // two for each rank
};
inline constinit thread_local ThreadArrays thread_arrays;
[[gnu::cold, gnu::noinline]] void grow(ThreadArrays& arrays, std::size_t ranks);

FERROMPI_INLINE ThreadArrays& arrays_for(std::size_t ranks) {
  auto& arrays = thread_arrays;
  if (arrays.ranks < ranks) [[unlikely]] {
    grow(arrays, ranks);
  }
  return arrays;
}

/// Element `i` of integers of 64 bits, whatever their type is called.
FERROMPI_INLINE std::uint64_t wide_at(const Integers& integers, std::size_t i) {
  std::uint64_t value = 0;
  std::memcpy(&value, static_cast<const std::byte*>(integers.data) + i * sizeof value, sizeof value);
  return value;
}
[[nodiscard]] FERROMPI_INLINE bool are_wide(const Segments& segments) {
  return segments.counts.width == sizeof(std::uint64_t) && segments.displs.width == sizeof(std::uint64_t);
}

inline LayoutStorage storage_of(Hold& hold) {
  return {hold.narrow, hold.wide, hold.handles, hold.types};
}

/// Converts the segments of one or two buffers into `storage`, to 64-bit or to int arrays. A value that int arrays
/// cannot hold is an error. Segments without displacements give a layout without.
void convert(const char* operation, const Group& group, std::span<const Segments> segments, bool to_wide,
             LayoutStorage storage, std::span<Layout> layouts);

}  // namespace ferrompi::detail
