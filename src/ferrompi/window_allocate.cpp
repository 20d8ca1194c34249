// Making a window so that all ranks get it or none does. MPI leaves three things open that matter here:
//  * a rank whose arguments are bad fails alone, and the others wait for it inside the library;
//  * too little shared memory: Open MPI 4.1 fails on one rank and leaves the others waiting, MPICH 4.0 succeeds and the
//    first touch of a missing page kills the process;
//  * a segment begins where the library's own data end: Open MPI 4.1 aligns it to 8 bytes only.
// So the ranks first exchange what they ask for and judge all of it alike, and look at the result together. What can
// fail on one rank alone comes before such an exchange, and its failure is part of what is exchanged.
#include <ferrompi/window/state.hpp>

#include <ferrompi/communicator.hpp>
#include <ferrompi/error.hpp>

#include "ferrompi/text.hpp"
#include "ferrompi/window_memory.hpp"
#include "ferrompi/window_registry.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <new>

namespace ferrompi::detail {

namespace {

constexpr const char* operation = "allocate";
constexpr auto most_bytes = static_cast<std::uint64_t>(std::numeric_limits<MPI_Aint>::max());
// What one call moves: it counts in int, and a piece this large costs nothing to start.
constexpr std::size_t most_bytes_at_once = std::size_t{1} << 30;

/// What one rank asks for, and what it sees: exchanged as numbers of one type.
struct Wish {
  std::uint64_t count;
  std::uint64_t element_size;
  std::uint64_t layout;
  std::uint64_t available;  // bytes that are free where the library puts the window
  std::uint64_t failure;    // the ErrorClass of what went wrong before; Success is 0
};
constexpr int wish_length = 5;
static_assert(sizeof(Wish) == wish_length * sizeof(std::uint64_t) && static_cast<int>(ErrorClass::Success) == 0);

ErrorClass class_of(const std::exception_ptr& failure) noexcept {
  if (!failure) return ErrorClass::Success;
  try {
    std::rethrow_exception(failure);
  } catch (const MpiError& error) {
    return error.error_class();
  } catch (const std::bad_alloc&) {
    return ErrorClass::NoMem;
  } catch (...) {
    return ErrorClass::Other;
  }
}

void exchange(const Communicator& comm, const WindowShape& shape, ErrorClass failure, std::vector<Wish>& all) {
  const Wish mine{shape.count, shape.element_size, static_cast<std::uint64_t>(shape.layout),
                  free_window_memory(comm.size()), static_cast<std::uint64_t>(failure)};
  check(MPI_Allgather(&mine, wish_length, MPI_UINT64_T, all.data(), wish_length, MPI_UINT64_T, comm.native()),
        operation);
}

[[noreturn]] void throw_failure_elsewhere(std::size_t rank, std::int64_t error_class) {
  throw MpiError(operation, static_cast<ErrorClass>(error_class),
                 text_of("rank ", rank, " could not make its part of the window: see what it says there"));
}

// Every rank runs this on the same numbers, so every rank comes to the same end.
void judge(const std::vector<Wish>& wishes) {
  std::uint64_t total = 0;
  std::uint64_t available = most_bytes;
  for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
    const auto& wish = wishes[rank];
    if (wish.failure != 0) throw_failure_elsewhere(rank, static_cast<std::int64_t>(wish.failure));
    if (wish.element_size != wishes[0].element_size || wish.layout != wishes[0].layout) {
      throw InvalidBuffer(
          operation, text_of("allocate: rank ", rank, " asks for elements of ", wish.element_size, " bytes (layout ",
                             wish.layout, "), rank 0 for elements of ", wishes[0].element_size, " bytes (layout ",
                             wishes[0].layout, "): all ranks must make the same window"));
    }
    if (wish.count > (most_bytes - total) / wish.element_size) {
      throw InvalidBuffer(operation,
                          text_of("allocate: rank ", rank, " asks for ", wish.count, " elements of ", wish.element_size,
                                  " bytes, with ", total, " bytes before it: more bytes than an address can count"));
    }
    total += wish.count * wish.element_size;
    available = std::min(available, wish.available);
  }
  if (total <= available) return;
  const auto asked =
      text_of("a window of ", total, " bytes for ", wishes.size(), " ranks, but there are only ", available);
  if (wishes.size() == 1) throw MpiError(operation, ErrorClass::NoMem, asked + " bytes of memory: ask for less");
  throw MpiError(operation, ErrorClass::NoMem,
                 text_of(asked, " bytes of shared memory left in ", window_directory(),
                         ", where this MPI library puts windows: ask for less, or make room there"));
}

std::size_t bytes_to_alignment(const std::byte* address, std::size_t alignment) noexcept {
  const auto over = reinterpret_cast<std::uintptr_t>(address) % alignment;
  return over == 0 ? 0 : alignment - over;
}

// What a rank adds to its segment so that elements can be aligned. In a contiguous window only the first rank may add
// anything, and exactly what moves all that follow to where they belong.
std::size_t padding_of(std::size_t rank, std::size_t ranks, const WindowShape& shape, std::size_t shift) noexcept {
  if (shift == 0) return 0;
  if (shape.layout == WindowLayout::Contiguous && ranks > 1) return rank == 0 ? shift : 0;
  return shape.alignment;
}

// MPI's separate segments need a hint that the user's own may lack.
Info hints_for(WindowLayout layout, const Info& given) {
  if (layout == WindowLayout::Contiguous) return given.duplicate();
  Info hints = given.is_null() ? Info() : given.duplicate();
  hints.set("alloc_shared_noncontig", "true");
  return hints;
}

/// How one rank fared in an attempt: exchanged as numbers of one type.
struct Outcome {
  std::int64_t failure;  // the ErrorClass; Success is 0
  std::int64_t exists;   // whether there is a window here, which only all ranks together can free
  std::int64_t shift;
};
constexpr int outcome_length = 3;
static_assert(sizeof(Outcome) == outcome_length * sizeof(std::int64_t));

}  // namespace

/// One call of MPI and what came of it, on all ranks.
struct WindowState::Attempt {
  MPI_Win win = MPI_WIN_NULL;
  std::vector<WindowSegment> segments;
  // In bytes where segments are padded, because padding need not be a multiple of an element.
  std::size_t unit;
  // How far some elements are from where they can be: not 0 asks for another attempt with padding.
  std::size_t shift = 0;

  Attempt(const Communicator& comm, const std::vector<Wish>& wishes, const WindowShape& shape, std::size_t shift_before,
          const Info& info)
      : unit(shift_before == 0 ? shape.element_size : 1) {
    const auto ranks = wishes.size();
    const auto padding = padding_of(static_cast<std::size_t>(comm.rank()), ranks, shape, shift_before);
    segments.resize(ranks);
    std::vector<Outcome> outcomes(ranks);
    void* base = nullptr;
    int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(shape.count * shape.element_size + padding),
                                       static_cast<int>(unit), info.native(), comm.native(), &base, &win);
    const bool exists = code == MPI_SUCCESS;
    if (code == MPI_SUCCESS) code = MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS) code = query(wishes, shape);

    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    const Outcome mine{static_cast<std::int64_t>(error_class_from_mpi(error_class)), exists ? 1 : 0,
                       static_cast<std::int64_t>(shift)};
    check(
        MPI_Allgather(&mine, outcome_length, MPI_INT64_T, outcomes.data(), outcome_length, MPI_INT64_T, comm.native()),
        operation);
    free_unless_all_succeeded(outcomes, code);
    for (const auto& outcome : outcomes) shift = std::max(shift, static_cast<std::size_t>(outcome.shift));
  }

  // Every rank decides by the same numbers. A window that exists on some ranks only cannot be freed, for that takes all
  // of them: it is left to the end.
  void free_unless_all_succeeded(const std::vector<Outcome>& outcomes, int own_code) {
    const auto failed = std::ranges::find_if(outcomes, [](const Outcome& outcome) { return outcome.failure != 0; });
    if (failed == outcomes.end()) return;
    if (std::ranges::all_of(outcomes, [](const Outcome& outcome) { return outcome.exists != 0; })) MPI_Win_free(&win);
    check(own_code, operation);
    throw_failure_elsewhere(static_cast<std::size_t>(failed - outcomes.begin()), failed->failure);
  }

  int query(const std::vector<Wish>& wishes, const WindowShape& shape) {
    for (std::size_t rank = 0; rank < wishes.size(); ++rank) {
      auto& segment = segments[rank];
      segment.count = static_cast<std::size_t>(wishes[rank].count);
      // MPICH gives null to every rank that asked for nothing, Open MPI the address of its neighbour: neither is read.
      if (segment.count == 0) continue;
      MPI_Aint size = 0;
      int ignored = 0;
      void* base = nullptr;
      if (const int code = MPI_Win_shared_query(win, static_cast<int>(rank), &size, &ignored, &base);
          code != MPI_SUCCESS) {
        return code;
      }
      if (base == nullptr) return MPI_ERR_BASE;
      auto* const first = static_cast<std::byte*>(base);
      const auto padding = bytes_to_alignment(first, shape.alignment);
      segment.base = first + padding;
      segment.place = static_cast<MPI_Aint>(padding / unit);
      // The size that is reported may be rounded up to pages, so it bounds the segment but does not tell its length.
      const auto needed = segment.count * shape.element_size;
      if (static_cast<std::size_t>(size) < needed) return MPI_ERR_SIZE;
      const bool fits = static_cast<std::size_t>(size) >= needed + padding;
      if (!fits || padding % unit != 0) shift = padding;
    }
    return MPI_SUCCESS;
  }
};

std::shared_ptr<WindowState> WindowState::allocate(const Communicator& comm, const WindowShape& shape,
                                                   const Info& user_info) {
  require_running(operation);
  const CallGuard guard(operation);
  if (comm.native() == MPI_COMM_NULL) {
    throw MpiError(operation, ErrorClass::Comm, "a moved-from communicator has no ranks to share a window");
  }
  // What a rank does alone comes first: once the window exists on all ranks, nothing may fail on one of them.
  std::vector<Wish> wishes(static_cast<std::size_t>(comm.size()));
  std::shared_ptr<WindowState> state;
  Info hints = Info::null();
  std::exception_ptr failure;
  try {
    state.reset(new WindowState);
    remember_open_window(*state);
    hints = hints_for(shape.layout, user_info);
  } catch (...) {
    failure = std::current_exception();
  }
  exchange(comm, shape, class_of(failure), wishes);
  if (failure) std::rethrow_exception(failure);
  judge(wishes);

  Attempt attempt(comm, wishes, shape, 0, hints);
  if (attempt.shift != 0) {
    check(MPI_Win_free(&attempt.win), operation);
    attempt = Attempt(comm, wishes, shape, attempt.shift, hints);
  }
  if (attempt.shift != 0) {
    MPI_Win_free(&attempt.win);
    throw NotSupported(operation, text_of("allocate: this MPI library cannot place elements that want an alignment of ",
                                          shape.alignment, " bytes"));
  }

  // Everything below relies on loads and stores being what other ranks see, without copies in between.
  int* model = nullptr;
  int found = 0;
  const int code = MPI_Win_get_attr(attempt.win, MPI_WIN_MODEL, &model, &found);
  if (code != MPI_SUCCESS || found == 0 || *model != MPI_WIN_UNIFIED) {
    MPI_Win_free(&attempt.win);
    check(code, operation);
    throw NotSupported(operation, "allocate: this MPI library keeps separate copies of shared windows");
  }
  state->win_ = attempt.win;
  state->rank_ = comm.rank();
  state->size_ = comm.size();
  state->element_size_ = shape.element_size;
  state->units_per_element_ = shape.element_size / attempt.unit;
  state->most_at_once_ = std::max<std::size_t>(most_bytes_at_once / shape.element_size, 1);
  state->segments_ = std::move(attempt.segments);
  state->facts_ = WindowState::None;
  return state;
}

}  // namespace ferrompi::detail
