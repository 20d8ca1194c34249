// Operations in flight.
//
// A `Request` borrows the caller's buffers, which must live until it is finished. A `Pending<R>` owns what was moved
// into it and hands it back. Both may be moved, kept in containers and dropped at any time: dropping one cancels a
// receive, completes anything else, and only then lets its buffers go.
#pragma once

#include <ferrompi/detail/hold.hpp>
#include <ferrompi/detail/mpi.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/status.hpp>

#include <optional>
#include <utility>

namespace ferrompi {

namespace detail {
struct RequestAccess;
[[noreturn, gnu::cold]] void throw_nothing_to_get();
}  // namespace detail

class [[nodiscard]] Request {
 public:
  /// Nothing in flight: `wait()` returns at once.
  Request() noexcept = default;
  Request(Request&& other) noexcept;
  Request& operator=(Request&& other) noexcept;
  ~Request() {
    if (native_ != MPI_REQUEST_NULL) drop();
  }

  /// Waits until the operation is over. Called again, gives the same status again.
  Status wait();
  /// The status if the operation is over, without waiting.
  [[nodiscard]] std::optional<Status> test();
  /// Like `test()`, but leaves the request as it is: it still has to be waited for.
  [[nodiscard]] std::optional<Status> get_status() const;
  /// Asks to give up; the request must still be waited for, and `Status::cancelled()` then tells whether it was in
  /// time. Reliable for receives only.
  void cancel();
  /// True once `wait()` or `test()` has seen the end, and for a request that was moved from.
  [[nodiscard]] bool is_complete() const noexcept { return native_ == MPI_REQUEST_NULL; }
  /// What the last `wait()` or successful `test()` returned.
  [[nodiscard]] const Status& status() const noexcept { return status_; }
  [[nodiscard]] MPI_Request native() const noexcept { return native_; }

 protected:
  /// Whether these buffers are still this request's: moved into a plain Request, they go with the operation.
  [[nodiscard]] bool holds(const void* held) const noexcept {
    return hold_ && hold_->buffers && hold_->buffers->handed_back() == held;
  }
  /// What `wait()` does, in errors under the name of the method that was called.
  Status wait_in(const char* operation);

 private:
  friend struct detail::RequestAccess;

  Request(MPI_Request native, MPI_Datatype type, detail::OnDrop on_drop, detail::HoldPtr hold) noexcept
      : native_(native), type_(type), on_drop_(on_drop), hold_(std::move(hold)) {}
  void drop() noexcept;

  MPI_Request native_ = MPI_REQUEST_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  detail::OnDrop on_drop_ = detail::OnDrop::Complete;
  detail::HoldPtr hold_;
  Status status_;
  detail::UnwindingDetector unwinding_;
};

/// A request that owns its buffers. `R` is the container that was moved in, a pair of them, or the value type. It may
/// be moved into a Request, as by `RequestSet::add`; then the buffers live and die there, and nobody gets them back.
template <class R>
class [[nodiscard]] Pending : public Request {
 public:
  Pending(Request request, detail::Held<R>& held) noexcept : Request(std::move(request)), held_(&held) {}
  Pending(Pending&& other) noexcept : Request(std::move(other)), held_(std::exchange(other.held_, nullptr)) {}
  Pending& operator=(Pending&& other) noexcept {
    Request::operator=(std::move(other));
    held_ = std::exchange(other.held_, nullptr);
    return *this;
  }
  ~Pending() = default;

  /// Waits, then hands the buffers back. Once.
  [[nodiscard]] R get() {
    if (held_ == nullptr || !holds(held_)) detail::throw_nothing_to_get();
    wait_in("get");
    return std::move(std::exchange(held_, nullptr)->value);
  }

 private:
  detail::Held<R>* held_;  // inside the Request's hold
};

namespace detail {

/// The library's door into a request.
struct RequestAccess {
  static Request make(MPI_Request native, MPI_Datatype type, OnDrop on_drop, HoldPtr hold) noexcept {
    return Request(native, type, on_drop, std::move(hold));
  }
  static MPI_Request& native(Request& request) noexcept { return request.native_; }
  /// The request was completed by MPI with this status.
  static void complete(Request& request, const MPI_Status& status);
};

}  // namespace detail

}  // namespace ferrompi
