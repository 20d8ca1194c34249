#include <ferrompi/persistent.hpp>

#include <ferrompi/error.hpp>

#include "ferrompi/status_of.hpp"
#include "ferrompi/text.hpp"
#include "ferrompi/unwinding.hpp"

#include <exception>
#include <utility>

namespace ferrompi {

PersistentRequest::PersistentRequest(PersistentRequest&& other) noexcept
    : native_(std::exchange(other.native_, MPI_REQUEST_NULL)),
      type_(other.type_),
      on_drop_(other.on_drop_),
      operation_(other.operation_),
      active_(std::exchange(other.active_, false)),
      is_native_(other.is_native_),
      communicator_(std::move(other.communicator_)),
      hold_(std::move(other.hold_)),
      restart_(std::move(other.restart_)),
      status_(other.status_) {}

PersistentRequest& PersistentRequest::operator=(PersistentRequest&& other) noexcept {
  if (this != &other) {
    release();
    native_ = std::exchange(other.native_, MPI_REQUEST_NULL);
    type_ = other.type_;
    on_drop_ = other.on_drop_;
    operation_ = other.operation_;
    active_ = std::exchange(other.active_, false);
    is_native_ = other.is_native_;
    communicator_ = std::move(other.communicator_);
    hold_ = std::move(other.hold_);
    restart_ = std::move(other.restart_);
    status_ = other.status_;
  }
  return *this;
}

void PersistentRequest::require_startable(const Place& place) const {
  const auto* const operation = place.operation;
  detail::require_running(operation);
  const auto say = [&](const auto&... parts) {
    if (place.of == 0) return detail::text_of(parts...);
    return detail::text_of("request ", place.number, " of ", place.of, ": ", parts...);
  };
  if (active_) {
    throw InvalidOp(operation, say("this ", operation_, " is in progress: wait() for its end first"));
  }
  if (native_ == MPI_REQUEST_NULL && !restart_) {
    throw InvalidOp(operation, say("this persistent request was moved from"));
  }
  if (!communicator_->load(std::memory_order_relaxed)) {
    throw MpiError(operation, ErrorClass::Comm,
                   say("the communicator of this ", operation_, " is gone: keep it as long as the plan"));
  }
}

void PersistentRequest::begin_round(const Place& place) {
  const detail::CallGuard guard(place.operation);
  const bool is_there = is_native_ && native_ != MPI_REQUEST_NULL;
  if (const int code = is_there ? MPI_Start(&native_) : restart_->start(&native_); code != MPI_SUCCESS) {
    if (place.of == 0) throw MpiError(place.operation, code);
    throw MpiError(place.operation, code, detail::text_of("request ", place.number, " of ", place.of));
  }
  active_ = true;
}

void PersistentRequest::start() {
  require_startable({"start"});
  begin_round({"start"});
}

void PersistentRequest::finished(const MPI_Status& status) {
  active_ = false;
  status_ = detail::status_of(status, type_, on_drop_);
  if (hold_) hold_->completed();
}

int PersistentRequest::end_round(MPI_Status& status, const char* operation) {
  detail::require_running(operation);
  const detail::CallGuard guard(operation);
  const int code = MPI_Wait(&native_, &status);
  active_ = false;  // over, also with an error
  return code;
}

Status PersistentRequest::wait() {
  if (!active_) return status_;
  MPI_Status status{};
  detail::check(end_round(status, "wait"), "wait");
  finished(status);
  return status_;
}

std::optional<Status> PersistentRequest::test() {
  if (!active_) return status_;
  detail::require_running("test");
  MPI_Status status{};
  int done = 0;
  {
    const detail::CallGuard guard("test");
    const int code = MPI_Test(&native_, &done, &status);
    if (code != MPI_SUCCESS) active_ = false;
    detail::check(code, "test");
  }
  if (done == 0) return std::nullopt;
  finished(status);
  return status_;
}

std::optional<Status> PersistentRequest::get_status() const {
  if (!active_) return status_;
  return detail::status_so_far(native_, type_, on_drop_);
}

void PersistentRequest::cancel() {
  if (!active_) return;
  detail::require_running("cancel");
  const detail::CallGuard guard("cancel");
  detail::check(MPI_Cancel(&native_), "cancel");
}

void PersistentRequest::release() noexcept {
  if (native_ != MPI_REQUEST_NULL && detail::mpi_is_usable()) {
    if (active_) {
      detail::finish_dropped(native_, on_drop_, hold_, unwinding_.unwinding(), "a PersistentRequest");
    }
    // Where the wait was given up the job is about to end, and the round goes on: MPI is left alone from there on.
    if (native_ != MPI_REQUEST_NULL && detail::mpi_is_usable()) MPI_Request_free(&native_);
  }
  native_ = MPI_REQUEST_NULL;
  active_ = false;
}

// One by one, in the order given: MPI_Startall promises no more, and requests without a native twin need it.
void start_all(std::span<PersistentRequest> requests) {
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].require_startable({"start_all", i, requests.size()});
  for (std::size_t i = 0; i < requests.size(); ++i) requests[i].begin_round({"start_all", i, requests.size()});
}

void wait_all(std::span<PersistentRequest> requests) {
  std::exception_ptr first;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& request = requests[i];
    if (!request.is_active()) continue;
    try {
      MPI_Status status{};
      if (const int code = request.end_round(status, "wait_all"); code != MPI_SUCCESS) {
        throw MpiError("wait_all", code, detail::text_of("request ", i, " of ", requests.size()));
      }
      request.finished(status);
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace ferrompi
