#include <ferrompi/request.hpp>

#include <ferrompi/error.hpp>

#include "ferrompi/status_of.hpp"
#include "ferrompi/unwinding.hpp"

namespace ferrompi {

namespace detail {

Hold::~Hold() {
  if (types.empty() || !mpi_is_usable()) return;
  for (auto& type : types) MPI_Type_free(&type);
}

void Hold::completed() {
  if (reduction) reduction->rethrow();
  if (finish) finish();
}

void Hold::dropped() noexcept {
  try {
    completed();
  } catch (...) {
    // What a callable threw leaves the result unspecified.
  }
}

void throw_nothing_to_get() {
  throw InvalidOp("get", "the buffers of this operation were handed back already, or it was moved from");
}

void RequestAccess::complete(Request& request, const MPI_Status& status) {
  request.native_ = MPI_REQUEST_NULL;
  request.status_ = detail::status_of(status, request.type_, request.on_drop_);
  if (request.hold_) request.hold_->completed();
}

}  // namespace detail

Request::Request(Request&& other) noexcept
    : native_(std::exchange(other.native_, MPI_REQUEST_NULL)),
      type_(other.type_),
      on_drop_(other.on_drop_),
      hold_(std::move(other.hold_)),
      status_(other.status_) {}

Request& Request::operator=(Request&& other) noexcept {
  if (this != &other) {
    if (native_ != MPI_REQUEST_NULL) drop();
    native_ = std::exchange(other.native_, MPI_REQUEST_NULL);
    type_ = other.type_;
    on_drop_ = other.on_drop_;
    hold_ = std::move(other.hold_);
    status_ = other.status_;
  }
  return *this;
}

Status Request::wait() {
  return wait_in("wait");
}

Status Request::wait_in(const char* operation) {
  if (native_ == MPI_REQUEST_NULL) return status_;
  detail::require_running(operation);
  MPI_Status status{};
  {
    const detail::CallGuard guard(operation);
    const int code = MPI_Wait(&native_, &status);
    native_ = MPI_REQUEST_NULL;  // over, also with an error: waiting once more would wait for a stranger
    detail::check(code, operation);
  }
  detail::RequestAccess::complete(*this, status);
  return status_;
}

std::optional<Status> Request::test() {
  if (native_ == MPI_REQUEST_NULL) return status_;
  detail::require_running("test");
  MPI_Status status{};
  int finished = 0;
  {
    const detail::CallGuard guard("test");
    const int code = MPI_Test(&native_, &finished, &status);
    if (code != MPI_SUCCESS) native_ = MPI_REQUEST_NULL;
    detail::check(code, "test");
  }
  if (finished == 0) return std::nullopt;
  detail::RequestAccess::complete(*this, status);
  return status_;
}

std::optional<Status> Request::get_status() const {
  if (native_ == MPI_REQUEST_NULL) return status_;
  return detail::status_so_far(native_, type_, on_drop_);
}

void Request::cancel() {
  if (native_ == MPI_REQUEST_NULL) return;
  detail::require_running("cancel");
  const detail::CallGuard guard("cancel");
  detail::check(MPI_Cancel(&native_), "cancel");
}

void Request::drop() noexcept {
  if (detail::mpi_is_usable()) {
    detail::finish_dropped(native_, on_drop_, hold_, unwinding_.unwinding(), "a Request");
  }
  native_ = MPI_REQUEST_NULL;
}

}  // namespace ferrompi
