// The operations of a window twice: as plain calls of MPI whose return codes are looked at, and through ferrompi, which
// also looks whether the target is inside the window and an epoch open. Run under the tracer.
#include <ferrompi/environment.hpp>
#include <ferrompi/window.hpp>

#include "regions.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

using ferrompi::LockType;
using ferrompi::ReduceOp;
using Window = ferrompi::SharedWindow<std::int64_t>;

// Visible outside of this file, so that the compiler cannot know what they hold.
std::array<std::int64_t, 8> values;
std::array<std::int64_t, 8> results;
std::int64_t one = 1;
std::int64_t before = 0;
std::array<std::int64_t*, probe::ranks> bases;
std::array<std::span<std::int64_t>, probe::ranks> spans;

namespace {

constexpr int len = 8;
constexpr int bytes = len * static_cast<int>(sizeof(std::int64_t));
constexpr int target = 1;
constexpr MPI_Aint place = 2;

// What every rank allocated.
std::array<std::int64_t, 64> segment;

struct PlainWindow {
  MPI_Win win;
};

/// A window, and what is open on it while its rows are counted.
struct OurWindow {
  Window& window;
  ferrompi::LockAllGuard<std::int64_t>* guard = nullptr;
  const ferrompi::WindowTarget<std::int64_t>* target = nullptr;
};

struct Operation {
  const char* name;
  void (*plain)(const PlainWindow&);
  void (*ours)(const OurWindow&);
  probe::Kind kind = probe::Kind::Window;
};

// What plain C keeps of the window, and a careful C++ program. Reading is reading memory; having the window look up a
// segment first is not, but no call of MPI either.
const Operation plain_access[] = {
    {"load from a span that was kept", [](const PlainWindow&) { before = bases[target][place]; },
     [](const OurWindow&) { before = spans[target][place]; }, probe::Kind::Fixed},
    {"load from local()", [](const PlainWindow&) { before = bases[0][place]; },
     [](const OurWindow& w) { before = w.window.local()[place]; }},
    {"load from remote()", [](const PlainWindow&) { before = bases[target][place]; },
     [](const OurWindow& w) { before = w.window.remote(target)[place]; }},
};

const Operation outside_of_locks[] = {
    {"fence", [](const PlainWindow& w) { checked(MPI_Win_fence(0, w.win)); },
     [](const OurWindow& w) { w.window.fence(); }},
    {"lock and unlock",
     [](const PlainWindow& w) {
       checked(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
       checked(MPI_Win_unlock(target, w.win));
     },
     [](const OurWindow& w) { w.window.lock(LockType::Exclusive, target).unlock(); }},
    {"lock_all and unlock",
     [](const PlainWindow& w) {
       checked(MPI_Win_lock_all(0, w.win));
       checked(MPI_Win_unlock_all(w.win));
     },
     [](const OurWindow& w) { w.window.lock_all().unlock(); }},
};

const Operation in_any_epoch[] = {
    {"put",
     [](const PlainWindow& w) {
       checked(MPI_Put(values.data(), bytes, MPI_BYTE, target, place, bytes, MPI_BYTE, w.win));
     },
     [](const OurWindow& w) { w.target->put(values, place); }},
    {"get",
     [](const PlainWindow& w) {
       checked(MPI_Get(values.data(), bytes, MPI_BYTE, target, place, bytes, MPI_BYTE, w.win));
     },
     [](const OurWindow& w) { w.target->get(values, place); }},
    {"accumulate",
     [](const PlainWindow& w) {
       checked(MPI_Accumulate(values.data(), len, MPI_INT64_T, target, place, len, MPI_INT64_T, MPI_SUM, w.win));
     },
     [](const OurWindow& w) { w.target->accumulate(values, ReduceOp::Sum, place); }},
    {"fetch_accumulate",
     [](const PlainWindow& w) {
       checked(MPI_Get_accumulate(values.data(), len, MPI_INT64_T, results.data(), len, MPI_INT64_T, target, place, len,
                                  MPI_INT64_T, MPI_SUM, w.win));
     },
     [](const OurWindow& w) { w.target->fetch_accumulate(values, results, ReduceOp::Sum, place); }},
};

const Operation under_locks[] = {
    {"flush", [](const PlainWindow& w) { checked(MPI_Win_flush(target, w.win)); },
     [](const OurWindow& w) { w.guard->flush(target); }},
    {"flush_local", [](const PlainWindow& w) { checked(MPI_Win_flush_local(target, w.win)); },
     [](const OurWindow& w) { w.guard->flush_local(target); }},
    {"flush_all", [](const PlainWindow& w) { checked(MPI_Win_flush_all(w.win)); },
     [](const OurWindow& w) { w.guard->flush_all(); }},
    {"flush_local_all", [](const PlainWindow& w) { checked(MPI_Win_flush_local_all(w.win)); },
     [](const OurWindow& w) { w.guard->flush_local_all(); }},
    {"sync", [](const PlainWindow& w) { checked(MPI_Win_sync(w.win)); }, [](const OurWindow& w) { w.window.sync(); }},
    {"fetch_op",
     [](const PlainWindow& w) {
       std::int64_t old;
       checked(MPI_Fetch_and_op(&one, &old, MPI_INT64_T, target, place, MPI_SUM, w.win));
       checked(MPI_Win_flush(target, w.win));
       before = old;
     },
     [](const OurWindow& w) { before = w.target->fetch_op(one, ReduceOp::Sum, place); }},
    {"compare_and_swap",
     [](const PlainWindow& w) {
       std::int64_t old;
       checked(MPI_Compare_and_swap(&one, &before, &old, MPI_INT64_T, target, place, w.win));
       checked(MPI_Win_flush(target, w.win));
       before = old;
     },
     [](const OurWindow& w) { before = w.target->compare_and_swap(before, one, place); }},
};

template <class Handle>
Handle some_window() {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(segment.data());
  } else {
    return 1;
  }
}

void measure_all(std::span<const Operation> operations, const PlainWindow& plain, const OurWindow& ours,
                 const std::string& epoch = {}) {
  for (const auto& operation : operations) {
    const auto name = operation.name + epoch;
    measure(name.c_str(), "plain", operation.kind, operation.plain, plain);
    measure(name.c_str(), "ours", operation.kind, operation.ours, ours);
  }
}

}  // namespace

// What the library asks of MPI when a window is made. All ranks ask for the same and get it.
int MPI_Allgather(const void* send, int count, MPI_Datatype, void* recv, int, MPI_Datatype, MPI_Comm) {
  const auto length = static_cast<std::size_t>(count) * sizeof(std::int64_t);
  for (int rank = 0; rank < probe::ranks; ++rank) {
    std::memcpy(static_cast<char*>(recv) + static_cast<std::size_t>(rank) * length, send, length);
  }
  return MPI_SUCCESS;
}
int MPI_Win_allocate_shared(MPI_Aint, int, MPI_Info, MPI_Comm, void* base, MPI_Win* win) {
  *static_cast<void**>(base) = segment.data();
  *win = some_window<MPI_Win>();
  return MPI_SUCCESS;
}
int MPI_Win_shared_query(MPI_Win, int, MPI_Aint* size, int* unit, void* base) {
  *size = sizeof segment;
  *unit = sizeof(std::int64_t);
  *static_cast<void**>(base) = segment.data();
  return MPI_SUCCESS;
}
int MPI_Win_get_attr(MPI_Win, int, void* value, int* found) {
  static int model = MPI_WIN_UNIFIED;
  *static_cast<int**>(value) = &model;
  *found = 1;
  return MPI_SUCCESS;
}

int main() {
  const auto mpi = ferrompi::Mpi::init();
  const auto world = mpi.world();
  auto window = Window::allocate(world, segment.size());
  const PlainWindow plain{window.native()};
  for (std::size_t rank = 0; rank < spans.size(); ++rank) {
    spans[rank] = window.remote(static_cast<int>(rank));
    bases[rank] = spans[rank].data();
  }

  begin(plain);
  measure_all(outside_of_locks, plain, {window});
  {
    window.fence();
    const auto other = window.target(target);
    measure_all(plain_access, plain, {window}, ", after a fence");
    measure_all(in_any_epoch, plain, {window, nullptr, &other}, ", after a fence");
    window.fence();
  }
  {
    const auto other = window.lock(LockType::Shared, target);
    measure_all(in_any_epoch, plain, {window, nullptr, &other}, ", under a lock");
  }
  auto guard = window.lock_all();
  const auto other = guard.target(target);
  measure_all(in_any_epoch, plain, {window, &guard, &other}, ", under all locks");
  measure_all(under_locks, plain, {window, &guard, &other});
  std::_Exit(EXIT_SUCCESS);
}
