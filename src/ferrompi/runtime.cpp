#include <ferrompi/detail/runtime.hpp>

#include <ferrompi/error.hpp>

#include "ferrompi/text.hpp"
#include "ferrompi/unwinding.hpp"

#include <mutex>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

namespace ferrompi {

const char* to_string(ThreadLevel level) noexcept {
  switch (level) {
    case ThreadLevel::Single: return "Single";
    case ThreadLevel::Funneled: return "Funneled";
    case ThreadLevel::Serialized: return "Serialized";
    case ThreadLevel::Multiple: return "Multiple";
  }
  return "unknown thread level";
}

std::ostream& operator<<(std::ostream& out, ThreadLevel level) {
  return out << to_string(level);
}

namespace detail {

std::atomic<bool> mpi_is_up{false};
int largest_tag = 32767;  // what the standard guarantees

namespace {

struct Runtime {
  std::mutex mutex;  // guards the list; attaching takes it too
  std::vector<std::function<void()>> at_finalize;
  // Written before mpi_is_up becomes true, with release order, and read after it was seen true.
  ThreadLevel level = ThreadLevel::Single;
  std::thread::id main_thread;
  std::atomic<bool> left_alone{false};    // the job is being ended
  std::atomic<std::thread::id> inside{};  // the thread that is inside MPI, at Serialized
};

// Never destroyed: MPI may be finalized from a destructor that runs after those of this file.
Runtime& runtime() {
  static auto* instance = new Runtime;
  return *instance;
}

// MPI deletes the attributes of MPI_COMM_SELF as the first thing in MPI_Finalize, whoever calls it. Everything that
// must be freed before the end is freed here.
int at_finalize(MPI_Comm, int, void*, void*) {
  auto& state = runtime();
  mpi_is_up.store(false, std::memory_order_relaxed);
  // Run without the lock: an action may take one that is held elsewhere while another action is added.
  for (;;) {
    std::function<void()> action;
    {
      const std::lock_guard lock(state.mutex);
      if (state.at_finalize.empty()) break;
      action = std::move(state.at_finalize.back());
      state.at_finalize.pop_back();
    }
    action();
  }
  return MPI_SUCCESS;
}

ThreadLevel level_from_mpi(int level) noexcept {
  if (level == MPI_THREAD_MULTIPLE) return ThreadLevel::Multiple;
  if (level == MPI_THREAD_SERIALIZED) return ThreadLevel::Serialized;
  if (level == MPI_THREAD_FUNNELED) return ThreadLevel::Funneled;
  return ThreadLevel::Single;
}

}  // namespace

bool leave_mpi_alone() noexcept {
  mpi_is_up.store(false, std::memory_order_relaxed);
  return !runtime().left_alone.exchange(true);
}

bool mpi_is_usable() noexcept {
  if (runtime().left_alone.load()) return false;
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

void attach(const char* operation) {
  if (mpi_is_up.load(std::memory_order_acquire)) return;  // pairs with the store below
  auto& state = runtime();
  const std::lock_guard lock(state.mutex);
  if (mpi_is_up.load(std::memory_order_relaxed)) return;
  if (!mpi_is_usable()) throw_not_running(operation);

  int level = MPI_THREAD_SINGLE;
  int main = 0;
  check(MPI_Query_thread(&level), operation);
  check(MPI_Is_thread_main(&main), operation);
  state.level = level_from_mpi(level);
  if (main != 0) state.main_thread = std::this_thread::get_id();

  int* tag = nullptr;
  int known = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag, &known), operation);
  if (known != 0) largest_tag = *tag;

  int key = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, nullptr), operation);
  check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), operation);
  MPI_Comm_free_keyval(&key);  // lives on until the attribute is deleted
  mpi_is_up.store(true, std::memory_order_release);
}

ThreadLevel thread_level() noexcept {
  return runtime().level;
}

void throw_not_running(const char* operation) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  throw MpiError(operation, ErrorClass::Other,
                 finalized != 0 ? "MPI is finalized: nothing can be communicated any more"
                                : "MPI is not running: keep the object that Mpi::init() returns alive");
}

bool enter_call(const char* operation) {
  auto& state = runtime();
  if (state.level == ThreadLevel::Multiple) return false;
  if (state.level == ThreadLevel::Serialized) {
    // Acquire pairs with the release below: a hand-over between threads that is right in the program is right here.
    std::thread::id inside;
    if (!state.inside.compare_exchange_strong(inside, std::this_thread::get_id(), std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
      // A call inside of another of the same thread, such as the making of a window's hints: the outer one leaves.
      if (inside == std::this_thread::get_id()) return false;
      throw MpiError(operation, ErrorClass::Other,
                     "two threads are inside MPI at once, which ThreadLevel::Serialized forbids: use "
                     "Mpi::init_thread(ThreadLevel::Multiple) or a lock");
    }
    return true;
  }
  if (state.main_thread != std::thread::id() && state.main_thread != std::this_thread::get_id()) {
    throw MpiError(operation, ErrorClass::Other,
                   text_of("called from a thread other than the one that initialised MPI, which ThreadLevel::",
                           to_string(state.level), " forbids: use Mpi::init_thread(ThreadLevel::Multiple)"));
  }
  return false;
}

void leave_call() noexcept {
  runtime().inside.store(std::thread::id(), std::memory_order_release);
}

void run_at_finalize(std::function<void()> action) {
  const std::lock_guard lock(runtime().mutex);
  runtime().at_finalize.push_back(std::move(action));
}

}  // namespace detail
}  // namespace ferrompi
