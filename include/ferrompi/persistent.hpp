// Operations that are set up once and started again and again on the same buffers.
#pragma once

#include <ferrompi/detail/hold.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/status.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace ferrompi {

namespace detail {

/// What begins a round where there is no persistent request of the library to start, with its arguments: the
/// nonblocking call that stands in for it, or the making of another one.
struct Restart {
  Restart() = default;
  Restart(const Restart&) = delete;
  Restart& operator=(const Restart&) = delete;
  virtual ~Restart() = default;
  virtual int start(MPI_Request* request) const = 0;
};

/// Whether a communicator is still there, for those who keep its handle. Relaxed wherever it is read or written: who
/// frees a communicator while another thread uses it has an error of their own, which this tells of if it can.
using Life = std::shared_ptr<const std::atomic<bool>>;
[[nodiscard]] Life life_of(MPI_Comm comm, const char* operation);

struct PersistentAccess;

}  // namespace detail

/// Borrows its buffers and its communicator: they must live, and the buffers stay where they are, as long as rounds are
/// started. What it needs beside them, such as counts and callables, it keeps itself. Destroying it cancels a started
/// receive and completes anything else.
class [[nodiscard]] PersistentRequest {
 public:
  PersistentRequest(PersistentRequest&& other) noexcept;
  PersistentRequest& operator=(PersistentRequest&& other) noexcept;
  ~PersistentRequest() { release(); }

  /// Begins one round. For a collective operation every rank starts. An error if a round is in progress, or if the
  /// communicator is gone.
  void start();
  /// Waits for the end of the round; returns at once if none is in progress.
  Status wait();
  /// The status if no round is in progress any more.
  [[nodiscard]] std::optional<Status> test();
  /// Like `test()`, but leaves the round in progress: it still has to be waited for.
  [[nodiscard]] std::optional<Status> get_status() const;
  /// Asks to give the round up, as `Request::cancel()`; nothing if none is in progress.
  void cancel();
  /// From `start()` until `wait()` or `test()` has seen the end.
  [[nodiscard]] bool is_active() const noexcept { return active_; }
  /// True if the MPI library's own persistent operation is used, false if each start is a nonblocking call because the
  /// library has none or a wrong one.
  [[nodiscard]] bool is_native() const noexcept { return is_native_; }
  [[nodiscard]] MPI_Request native() const noexcept { return native_; }

 private:
  friend struct detail::PersistentAccess;
  friend void start_all(std::span<PersistentRequest> requests);
  friend void wait_all(std::span<PersistentRequest> requests);

  PersistentRequest(MPI_Request native, MPI_Datatype type, detail::OnDrop on_drop, const char* operation,
                    detail::Life communicator, detail::HoldPtr hold,
                    std::unique_ptr<const detail::Restart> restart) noexcept
      : native_(native),
        type_(type),
        on_drop_(on_drop),
        operation_(operation),
        is_native_(native != MPI_REQUEST_NULL),
        communicator_(std::move(communicator)),
        hold_(std::move(hold)),
        restart_(std::move(restart)) {}

  /// Which of how many is to start, for errors; none where one is started alone.
  struct Place {
    const char* operation;
    std::size_t number = 0;
    std::size_t of = 0;
  };

  void release() noexcept;
  /// Throws unless a round may begin.
  void require_startable(const Place& place) const;
  void begin_round(const Place& place);
  /// Waits for the end of the round and gives what MPI says of it.
  [[nodiscard]] int end_round(MPI_Status& status, const char* operation);
  void finished(const MPI_Status& status);

  MPI_Request native_;
  MPI_Datatype type_;
  detail::OnDrop on_drop_;
  const char* operation_;
  bool active_ = false;
  bool is_native_;
  detail::Life communicator_;
  detail::HoldPtr hold_;
  std::unique_ptr<const detail::Restart> restart_;
  Status status_;
  detail::UnwindingDetector unwinding_;
};

/// Whether an allreduce that comes again and again is worth a persistent request with this library at all: measured,
/// see `bench/mpi/persistent.cpp`.
inline constexpr bool allreduce_is_faster_again = detail::takes_the_long_way_for_short_sums;
/// And up to how many bytes.
inline constexpr std::size_t faster_again_up_to = 1024;

/// Whether it is for so many elements of that size on so many ranks of one node, copied into buffers of the request's
/// own.
[[nodiscard]] constexpr bool is_faster_again(std::size_t count, std::size_t element_size, int ranks) noexcept {
  return allreduce_is_faster_again && ranks > 1 && count >= std::bit_floor(static_cast<unsigned>(ranks)) &&
         count <= faster_again_up_to / element_size;
}

/// Starts all; none if one of them cannot be started, which the error names.
void start_all(std::span<PersistentRequest> requests);
/// Waits for every round that is in progress; the error names the place of the first that failed.
void wait_all(std::span<PersistentRequest> requests);
/// True if no round is in progress any more; then all are over. Otherwise none has changed.
[[nodiscard]] bool test_all(std::span<PersistentRequest> requests);
/// Waits for the end of one of the rounds that are in progress and gives its place; nothing if none is.
[[nodiscard]] std::optional<std::size_t> wait_any(std::span<PersistentRequest> requests);
/// The place of one whose round has just ended; nothing if none has, or none was in progress.
[[nodiscard]] std::optional<std::size_t> test_any(std::span<PersistentRequest> requests);
/// Waits until at least one round that is in progress is over and gives the places of all that are; empty if none is.
/// The result is valid until the next `wait_some` or `test_some` on this thread.
[[nodiscard]] std::span<const std::size_t> wait_some(std::span<PersistentRequest> requests);
/// The places of all whose round has just ended. Valid as for `wait_some`.
[[nodiscard]] std::span<const std::size_t> test_some(std::span<PersistentRequest> requests);

namespace detail {

/// The library's door into a persistent request.
struct PersistentAccess {
  static PersistentRequest make(MPI_Request native, MPI_Datatype type, OnDrop on_drop, const char* operation,
                                Life communicator, HoldPtr hold, std::unique_ptr<const Restart> restart) noexcept {
    return PersistentRequest(native, type, on_drop, operation, std::move(communicator), std::move(hold),
                             std::move(restart));
  }
  /// For a call of MPI on several: nothing where no round is in progress, whether or not there is a request.
  static MPI_Request native_under_way(const PersistentRequest& plan) noexcept {
    return plan.active_ ? plan.native_ : MPI_REQUEST_NULL;
  }
  /// The round was ended by MPI, which left this of the request.
  static void end_round(PersistentRequest& plan, MPI_Request left) noexcept {
    plan.native_ = left;
    plan.active_ = false;
  }
  /// The same, without an error and with this status.
  static void complete(PersistentRequest& plan, MPI_Request left, const MPI_Status& status) {
    end_round(plan, left);
    plan.finished(status);
  }
};

}  // namespace detail
}  // namespace ferrompi
