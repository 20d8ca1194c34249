#include <ferrompi/detail/layout.hpp>

#include <ferrompi/detail/aside.hpp>
#include <ferrompi/detail/far_parts.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>

#include "ferrompi/text.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ferrompi::detail {

namespace {

// Calls `body` with a span of the true type, so that loops run on it.
template <class Body>
auto visit(const Integers& integers, Body body) {
  const auto as = [&]<class T>(T*) { return body(std::span(static_cast<const T*>(integers.data), integers.size)); };
  switch (integers.width) {
    case 1:
      return integers.is_signed ? as(static_cast<std::int8_t*>(nullptr)) : as(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return integers.is_signed ? as(static_cast<std::int16_t*>(nullptr)) : as(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return integers.is_signed ? as(static_cast<std::int32_t*>(nullptr)) : as(static_cast<std::uint32_t*>(nullptr));
    default:
      return integers.is_signed ? as(static_cast<std::int64_t*>(nullptr)) : as(static_cast<std::uint64_t*>(nullptr));
  }
}

template <class... Parts>
[[noreturn]] void refuse(const char* operation, const Group& group, const Parts&... parts) {
  throw InvalidBuffer(operation, text_of(operation, " on rank ", group.rank, " of ", group.size, ": ", parts...));
}

void check_length(const char* operation, const Group& group, const Integers& integers, const char* what) {
  if (integers.size != static_cast<std::size_t>(group.size)) {
    refuse(operation, group, what, " has ", integers.size, " entries: there must be one for each of ", group.size,
           " ranks");
  }
}

void check_sign(const char* operation, const Group& group, std::int64_t value, std::size_t rank, const char* what) {
  if (value < 0) {
    refuse(operation, group, what, " for rank ", rank, " is ", value, ", which is negative or beyond 64 bits");
  }
}

// The segments in the order in which they lie in memory: only needed when they do not lie in rank order.
void check_disjoint(const char* operation, const Group& group, const Segments& segments) {
  std::vector<std::size_t> order(segments.counts.size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t r) { return at(segments.counts, r) == 0; });
  std::ranges::sort(order, {}, [&](std::size_t r) { return at(segments.displs, r); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto before = order[i - 1];
    const auto after = order[i];
    if (at(segments.displs, before) + at(segments.counts, before) > at(segments.displs, after)) {
      refuse(operation, group, "the segments of ranks ", before, " and ", after,
             " overlap: each rank's part must have a place of its own");
    }
  }
}

struct Memory {
  std::vector<int> narrow;
  std::vector<MPI_Count> wide;
  std::vector<MPI_Datatype> handles;
  std::vector<MPI_Datatype> types;
};

template <class Target>
void copy_to(const char* operation, const Group& group, const Integers& from, Target* to, const char* what) {
  visit(from, [&](auto values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::in_range<Target>(values[i])) {
        refuse(operation, group, "the ", what, " for rank ", i, " is ", values[i],
               ", which is negative or more than this MPI library counts");
      }
      to[i] = static_cast<Target>(values[i]);
    }
  });
}

}  // namespace

std::int64_t at(const Integers& integers, std::size_t i) {
  return visit(integers, [i](auto values) { return static_cast<std::int64_t>(values[i]); });
}

bool place_parts(const Segments& parts, std::size_t ranks, int* counts, int* displs) {
  return visit(parts.counts, [&](auto lengths) {
    return visit(parts.displs, [&](auto places) {
      bool fits = true;
      for (std::size_t r = 0; r < ranks; ++r) {
        counts[r] = static_cast<int>(lengths[r]);
        fits = fits && (counts[r] == 0 || std::in_range<int>(places[r]));
        displs[r] = counts[r] == 0 ? 0 : static_cast<int>(places[r]);
      }
      return fits;
    });
  });
}

void check_segments(const char* operation, const Group& group, const Segments& segments, std::size_t length,
                    bool written) {
  check_length(operation, group, segments.counts, "counts");
  check_length(operation, group, segments.displs, "displs");
  const bool in_order = visit(segments.counts, [&](auto counts) {
    return visit(segments.displs, [&](auto displs) {
      std::int64_t end = 0;
      bool ordered = true;
      for (std::size_t r = 0; r < counts.size(); ++r) {
        const auto count = static_cast<std::int64_t>(counts[r]);
        const auto displ = static_cast<std::int64_t>(displs[r]);
        check_sign(operation, group, count, r, "the count");
        check_sign(operation, group, displ, r, "the displacement");
        // Written so that nothing can overflow.
        const auto size = static_cast<std::size_t>(count);
        if (size > length || static_cast<std::size_t>(displ) > length - size) {
          if (size == 0) continue;  // a segment of nothing may lie anywhere
          refuse(operation, group, "the segment of rank ", r, " has ", count, " elements from ", displ,
                 " on and leaves the buffer of ", length);
        }
        if (size == 0) continue;
        ordered = ordered && displ >= end;
        end = displ + count;
      }
      return ordered;
    });
  });
  if (written && !in_order) check_disjoint(operation, group, segments);
}

void check_counts(const char* operation, const Group& group, const Integers& counts, std::size_t length) {
  check_length(operation, group, counts, "counts");
  std::size_t left = length;
  for (std::size_t r = 0; r < counts.size; ++r) {
    const auto count = at(counts, r);
    check_sign(operation, group, count, r, "the count");
    if (static_cast<std::size_t>(count) > left) {
      refuse(operation, group, "the counts up to rank ", r, " exceed the ", length, " elements of send");
    }
    left -= static_cast<std::size_t>(count);
  }
  if (left != 0) refuse(operation, group, "the counts add up to ", length - left, ", but send has ", length);
}

void check_own_count(const char* operation, const Group& group, const Integers& counts, std::size_t length) {
  const auto own = at(counts, static_cast<std::size_t>(group.rank));
  if (static_cast<std::size_t>(own) != length) {
    refuse(operation, group, "the count of this rank is ", own, ", but its own buffer has ", length, " elements");
  }
}

void throw_displacement_overflow(std::size_t rank) {
  throw InvalidBuffer("displacements", text_of("the counts up to rank ", rank,
                                               " add up to more than their type holds: count in std::size_t"));
}

void throw_count_too_large(const char* operation, const Group& group, std::size_t count) {
  refuse(operation, group, count, " elements are more than counts of type int can say: pass counts of std::size_t");
}

namespace {
Memory& thread_memory() {
  thread_local Memory memory;
  return memory;
}
}  // namespace

std::byte* thread_memory_aside() {
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  thread_local const auto memory = std::make_unique_for_overwrite<Line[]>(aside_bytes / sizeof(Line));
  return memory[0].bytes;
}

void grow(ThreadArrays& arrays, std::size_t ranks) {
  struct Memory {
    std::vector<int> integers;
    std::vector<MPI_Datatype> types;
  };
  // What was grown out of is kept: a program and a library may each have arrays of their own in this thread.
  thread_local std::vector<Memory> all;
  auto& memory = all.emplace_back(std::vector<int>(4 * ranks), std::vector<MPI_Datatype>(2 * ranks));
  arrays = {ranks, memory.integers.data(), memory.types.data()};
}

ThreadStorage::ThreadStorage() : memory_(&thread_memory()) {}

ThreadStorage::~ThreadStorage() {
  auto& types = static_cast<Memory*>(memory_)->types;
  for (auto& type : types) MPI_Type_free(&type);
  types.clear();
}

ThreadStorage::operator LayoutStorage() noexcept {
  auto& memory = *static_cast<Memory*>(memory_);
  return {memory.narrow, memory.wide, memory.handles, memory.types};
}

void convert(const char* operation, const Group& group, std::span<const Segments> segments, bool to_wide,
             LayoutStorage storage, std::span<Layout> layouts) {
  std::size_t total = 0;
  for (const auto& side : segments) total += side.counts.size + side.displs.size;
  // MPI_Aint and MPI_Count have the same representation wherever both have 64 bits.
  static_assert(sizeof(MPI_Count) == sizeof(MPI_Aint));
  if (to_wide) {
    storage.wide.resize(total);
  } else {
    storage.narrow.resize(total);
  }
  std::size_t used = 0;
  for (std::size_t k = 0; k < segments.size(); ++k) {
    const auto& [counts, displs] = segments[k];
    if (to_wide) {
      auto* count = storage.wide.data() + used;
      auto* displ = reinterpret_cast<MPI_Aint*>(count + counts.size);
      copy_to(operation, group, counts, count, "count");
      copy_to(operation, group, displs, displ, "displacement");
      layouts[k].wide_counts = count;
      layouts[k].wide_displs = displ;
    } else {
      auto* count = storage.narrow.data() + used;
      auto* displ = count + counts.size;
      copy_to(operation, group, counts, count, "count");
      copy_to(operation, group, displs, displ, "displacement");
      layouts[k].counts = count;
      layouts[k].displs = displ;
    }
    used += counts.size + displs.size;
  }
}

}  // namespace ferrompi::detail
