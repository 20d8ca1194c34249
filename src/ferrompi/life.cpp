#include "ferrompi/life.hpp"

#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>
#include <ferrompi/persistent.hpp>

#include <mutex>

namespace ferrompi::detail {

namespace {

using Flag = std::shared_ptr<std::atomic<bool>>;

// A communicator carries its flag as an attribute, which MPI deletes with it, whoever frees it.
struct Key {
  std::mutex mutex;  // two threads may make the first plans of one communicator at once
  int value = MPI_KEYVAL_INVALID;
};

Key& key() {
  static Key key;
  return key;
}

int at_free(MPI_Comm, int, void* value, void*) {
  auto* const flag = static_cast<Flag*>(value);
  (*flag)->store(false, std::memory_order_relaxed);
  delete flag;
  return MPI_SUCCESS;
}

// None where the communicator has none, or nobody has asked for any.
Flag* flag_of(MPI_Comm comm) noexcept {
  Flag* flag = nullptr;
  int found = 0;
  if (key().value == MPI_KEYVAL_INVALID) return nullptr;
  if (MPI_Comm_get_attr(comm, key().value, &flag, &found) != MPI_SUCCESS || found == 0) return nullptr;
  return flag;
}

}  // namespace

Life life_of(MPI_Comm comm, const char* operation) {
  const std::lock_guard lock(key().mutex);
  if (key().value == MPI_KEYVAL_INVALID) {
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_free, &key().value, nullptr), operation);
    run_at_finalize([] {
      const std::lock_guard finalizing(key().mutex);
      MPI_Comm_free_keyval(&key().value);  // lives on until the last attribute is deleted
    });
  }
  if (const auto* const flag = flag_of(comm)) return *flag;
  auto flag = std::make_unique<Flag>(std::make_shared<std::atomic<bool>>(true));
  check(MPI_Comm_set_attr(comm, key().value, flag.get()), operation);
  return *flag.release();  // the communicator's from here on
}

// Some libraries keep a freed communicator, and its attributes, while a request that was made on it lives.
void end_life(MPI_Comm comm) noexcept {
  const std::lock_guard lock(key().mutex);
  if (auto* const flag = flag_of(comm)) (*flag)->store(false, std::memory_order_relaxed);
}

}  // namespace ferrompi::detail
