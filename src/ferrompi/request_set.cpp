#include <ferrompi/request_set.hpp>

#include <ferrompi/error.hpp>

#include "ferrompi/text.hpp"

#include <climits>
#include <exception>

namespace ferrompi {

namespace detail {

// One call on many requests: the arrays that MPI wants, and the requests that they stand for.
struct Batch {
  RequestArray requests;
  std::span<MPI_Request> natives;
  std::span<MPI_Status> statuses;
  std::span<int> indices;
  std::span<std::size_t> places;  // of wait_some and test_some alone

  [[nodiscard]] int count(const char* operation) const {
    if (natives.size() > INT_MAX) throw InvalidOp(operation, "more than 2147483647 requests in one call");
    return static_cast<int>(natives.size());
  }
};

namespace {

// The error of one request among many. MPI_ERR_IN_STATUS only says to look there.
class Failures {
 public:
  explicit Failures(const char* operation) : operation_(operation) {}

  // Marks the request as over; keeps what goes wrong for later, so that the others are seen to first.
  void complete(const Batch& batch, std::size_t place, const MPI_Status& status) {
    auto& request = batch.requests[place];
    batch.natives[place] = MPI_REQUEST_NULL;
    try {
      RequestAccess::complete(request, status);
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }

  void fail(const Batch& batch, std::size_t place, int code) {
    batch.natives[place] = MPI_REQUEST_NULL;
    RequestAccess::native(batch.requests[place]) = MPI_REQUEST_NULL;
    if (first_) return;
    first_ =
        std::make_exception_ptr(MpiError(operation_, code, text_of("request ", place, " of ", batch.natives.size())));
  }

  void rethrow() {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  const char* operation_;
  std::exception_ptr first_;
};

// After a call that completes several: looks at the status of each place. With MPI_SUCCESS the standard leaves the
// error field of the statuses alone, so it is not read.
template <class Places>
void settle(const Batch& batch, int code, const char* operation, const Places& places) {
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    int error_class = code;
    MPI_Error_class(code, &error_class);
    if (error_class != MPI_ERR_IN_STATUS) check(code, operation);
  }
  Failures failures(operation);
  std::size_t k = 0;
  for (const auto place : places) {
    const auto& status = batch.statuses[k++];
    const bool active = RequestAccess::native(batch.requests[place]) != MPI_REQUEST_NULL;
    if (!active) continue;
    if (code == MPI_SUCCESS || status.MPI_ERROR == MPI_SUCCESS) {
      failures.complete(batch, place, status);
    } else if (status.MPI_ERROR != MPI_ERR_PENDING) {
      failures.fail(batch, place, status.MPI_ERROR);
    }
  }
  failures.rethrow();
}
}  // namespace

static void wait_all(const Batch& batch) {
  require_running("wait_all");
  const int count = batch.count("wait_all");
  int code = MPI_SUCCESS;
  {
    const CallGuard guard("wait_all");
    code = MPI_Waitall(count, batch.natives.data(), batch.statuses.data());
  }
  settle(batch, code, "wait_all", std::views::iota(std::size_t{0}, batch.natives.size()));
}

static bool test_all(const Batch& batch) {
  require_running("test_all");
  const int count = batch.count("test_all");
  int code = MPI_SUCCESS;
  int finished = 0;
  {
    const CallGuard guard("test_all");
    code = MPI_Testall(count, batch.natives.data(), &finished, batch.statuses.data());
  }
  if (code == MPI_SUCCESS && finished == 0) return false;
  settle(batch, code, "test_all", std::views::iota(std::size_t{0}, batch.natives.size()));
  return true;
}

template <class Call>
static std::optional<std::size_t> complete_any(const Batch& batch, const char* operation, Call call) {
  require_running(operation);
  const int count = batch.count(operation);
  int index = MPI_UNDEFINED;
  MPI_Status status{};
  int code = MPI_SUCCESS;
  {
    const CallGuard guard(operation);
    code = call(count, batch.natives.data(), &index, &status);
  }
  if (index == MPI_UNDEFINED || index < 0) {
    check(code, operation);
    return std::nullopt;
  }
  const auto place = static_cast<std::size_t>(index);
  Failures failures(operation);
  if (code == MPI_SUCCESS) {
    failures.complete(batch, place, status);
  } else {
    failures.fail(batch, place, code);
  }
  failures.rethrow();
  return place;
}

static std::optional<std::size_t> wait_any(const Batch& batch) {
  return complete_any(batch, "wait_any", [](int count, MPI_Request* natives, int* index, MPI_Status* status) {
    return MPI_Waitany(count, natives, index, status);
  });
}

static std::optional<std::size_t> test_any(const Batch& batch) {
  return complete_any(batch, "test_any", [](int count, MPI_Request* natives, int* index, MPI_Status* status) {
    int finished = 0;
    const int code = MPI_Testany(count, natives, index, &finished, status);
    if (code == MPI_SUCCESS && finished == 0) *index = MPI_UNDEFINED;
    return code;
  });
}

using SomeFunction = int(int, MPI_Request*, int*, int*, MPI_Status*);

static std::span<const std::size_t> complete_some(const Batch& batch, const char* operation, SomeFunction* call) {
  require_running(operation);
  const int count = batch.count(operation);
  int finished = 0;
  int code = MPI_SUCCESS;
  {
    const CallGuard guard(operation);
    code = call(count, batch.natives.data(), &finished, batch.indices.data(), batch.statuses.data());
  }
  const auto number = finished == MPI_UNDEFINED || finished < 0 ? 0 : static_cast<std::size_t>(finished);
  for (std::size_t i = 0; i < number; ++i) batch.places[i] = static_cast<std::size_t>(batch.indices[i]);
  const auto places = batch.places.first(number);
  settle(batch, code, operation, places);
  return places;
}

// The arrays of the functions that take a range: one set a thread, kept for the next call.
static Batch batch_of(RequestArray requests, std::span<std::size_t> places = {}) {
  thread_local std::vector<MPI_Request> natives;
  thread_local std::vector<MPI_Status> statuses;
  thread_local std::vector<int> indices;
  natives.resize(requests.size);
  statuses.resize(requests.size);
  indices.resize(requests.size);
  for (std::size_t i = 0; i < requests.size; ++i) natives[i] = RequestAccess::native(requests[i]);
  return {requests, natives, statuses, indices, places};
}

// The caller of wait_some or test_some goes on reading these, so that nothing but the next of the two touches them.
static Batch batch_with_places_of(RequestArray requests) {
  thread_local std::vector<std::size_t> places;
  places.resize(requests.size);
  return batch_of(requests, places);
}

void wait_all(RequestArray requests) {
  wait_all(batch_of(requests));
}
bool test_all(RequestArray requests) {
  return test_all(batch_of(requests));
}
std::optional<std::size_t> wait_any(RequestArray requests) {
  return wait_any(batch_of(requests));
}
std::optional<std::size_t> test_any(RequestArray requests) {
  return test_any(batch_of(requests));
}

std::span<const std::size_t> wait_some(RequestArray requests) {
  return complete_some(batch_with_places_of(requests), "wait_some", &MPI_Waitsome);
}

std::span<const std::size_t> test_some(RequestArray requests) {
  return complete_some(batch_with_places_of(requests), "test_some", &MPI_Testsome);
}

}  // namespace detail

std::size_t RequestSet::add(Request request) {
  // Everything that can fail comes before the request changes hands.
  statuses_.resize(requests_.size() + 1);
  indices_.resize(requests_.size() + 1);
  places_.resize(requests_.size() + 1);
  natives_.resize(requests_.size() + 1, MPI_REQUEST_NULL);
  requests_.push_back(std::move(request));
  natives_.back() = requests_.back().native();
  return requests_.size() - 1;
}

void RequestSet::clear() noexcept {
  requests_.clear();
  natives_.clear();
}

detail::Batch RequestSet::batch() {
  const auto size = requests_.size();
  return {detail::array_of(requests_),
          {natives_.data(), size},
          {statuses_.data(), size},
          {indices_.data(), size},
          {places_.data(), size}};
}

void RequestSet::wait_all() {
  detail::wait_all(batch());
}
bool RequestSet::test_all() {
  return detail::test_all(batch());
}
std::optional<std::size_t> RequestSet::wait_any() {
  return detail::wait_any(batch());
}
std::optional<std::size_t> RequestSet::test_any() {
  return detail::test_any(batch());
}

std::span<const std::size_t> RequestSet::wait_some() {
  return detail::complete_some(batch(), "wait_some", &MPI_Waitsome);
}

std::span<const std::size_t> RequestSet::test_some() {
  return detail::complete_some(batch(), "test_some", &MPI_Testsome);
}

}  // namespace ferrompi
