#include <ferrompi/request_set.hpp>

#include <ferrompi/error.hpp>
#include <ferrompi/persistent.hpp>

#include "ferrompi/text.hpp"

#include <climits>
#include <exception>
#include <type_traits>
#include <utility>

namespace ferrompi {

namespace detail {

// One call on many requests or plans: the arrays that MPI wants, and what they stand for.
template <class Array>
struct BatchOf {
  Array requests;
  std::span<MPI_Request> natives;
  std::span<MPI_Status> statuses;
  std::span<int> indices;
  std::span<std::size_t> places;  // of wait_some and test_some alone

  [[nodiscard]] int count(const char* operation) const {
    if (natives.size() > INT_MAX) throw InvalidOp(operation, "more than 2147483647 requests in one call");
    return static_cast<int>(natives.size());
  }
};

struct Batch : BatchOf<RequestArray> {};

namespace {

// What differs between the two kinds. `left` is the handle as MPI leaves it: a plan whose library has persistent
// requests keeps its own.
MPI_Request native_under_way(Request& request) {
  return RequestAccess::native(request);
}
MPI_Request native_under_way(const PersistentRequest& plan) {
  return PersistentAccess::native_under_way(plan);
}
bool is_under_way(Request& request) {
  return !request.is_complete();
}
bool is_under_way(const PersistentRequest& plan) {
  return plan.is_active();
}
void complete(Request& request, MPI_Request, const MPI_Status& status) {
  RequestAccess::complete(request, status);
}
void complete(PersistentRequest& plan, MPI_Request left, const MPI_Status& status) {
  PersistentAccess::complete(plan, left, status);
}
void fail(Request& request, MPI_Request) {
  RequestAccess::native(request) = MPI_REQUEST_NULL;
}
void fail(PersistentRequest& plan, MPI_Request left) {
  PersistentAccess::end_round(plan, left);
}

// The error of one request among many. MPI_ERR_IN_STATUS only says to look there.
class Failures {
 public:
  explicit Failures(const char* operation) : operation_(operation) {}

  // Marks the request as over; keeps what goes wrong for later, so that the others are seen to first.
  template <class Array>
  void complete(const BatchOf<Array>& batch, std::size_t place, const MPI_Status& status) {
    const auto left = std::exchange(batch.natives[place], MPI_REQUEST_NULL);
    try {
      detail::complete(batch.requests[place], left, status);
    } catch (...) {
      if (!first_) first_ = std::current_exception();
    }
  }

  template <class Array>
  void fail(const BatchOf<Array>& batch, std::size_t place, int code) {
    const auto left = std::exchange(batch.natives[place], MPI_REQUEST_NULL);
    detail::fail(batch.requests[place], left);
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

// Where MPI may tell in the status alone that a round has failed: then the error fields say before the call that none
// has.
template <class Array>
constexpr bool tells_in_status = hides_failed_plans&& std::is_same_v<Array, std::span<PersistentRequest>>;

// After a call that completes several: looks at the status of each place. With MPI_SUCCESS the standard leaves the
// error field of the statuses alone, so it is not read unless we have written to it.
template <class Array, class Places>
void settle(const BatchOf<Array>& batch, int code, const char* operation, const Places& places) {
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
    int error_class = code;
    MPI_Error_class(code, &error_class);
    if (error_class != MPI_ERR_IN_STATUS) check(code, operation);
  }
  Failures failures(operation);
  std::size_t k = 0;
  for (const auto place : places) {
    const auto& status = batch.statuses[k++];
    if (!is_under_way(batch.requests[place])) continue;
    if ((code == MPI_SUCCESS && !tells_in_status<Array>) || status.MPI_ERROR == MPI_SUCCESS) {
      failures.complete(batch, place, status);
    } else if (status.MPI_ERROR != MPI_ERR_PENDING) {
      failures.fail(batch, place, status.MPI_ERROR);
    }
  }
  failures.rethrow();
}
}  // namespace

static void wait_all(const BatchOf<RequestArray>& batch) {
  require_running("wait_all");
  const int count = batch.count("wait_all");
  int code = MPI_SUCCESS;
  {
    const CallGuard guard("wait_all");
    code = MPI_Waitall(count, batch.natives.data(), batch.statuses.data());
  }
  settle(batch, code, "wait_all", std::views::iota(std::size_t{0}, batch.natives.size()));
}

template <class Array>
static bool test_all(const BatchOf<Array>& batch) {
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

template <class Array, class Call>
static std::optional<std::size_t> complete_any(const BatchOf<Array>& batch, const char* operation, Call call) {
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

template <class Array>
static std::optional<std::size_t> wait_any(const BatchOf<Array>& batch) {
  return complete_any(batch, "wait_any", [](int count, MPI_Request* natives, int* index, MPI_Status* status) {
    return MPI_Waitany(count, natives, index, status);
  });
}

// What MPI_Testany does, for libraries where it hides errors.
[[maybe_unused]] static int test_one_by_one(int count, MPI_Request* natives, int* index, MPI_Status* status) {
  for (int i = 0; i < count; ++i) {
    if (natives[i] == MPI_REQUEST_NULL) continue;
    int finished = 0;
    const int code = MPI_Test(&natives[i], &finished, status);
    if (code == MPI_SUCCESS && finished == 0) continue;
    *index = i;
    return code;
  }
  return MPI_SUCCESS;
}

template <class Array>
static std::optional<std::size_t> test_any(const BatchOf<Array>& batch) {
  if constexpr (tells_in_status<Array>) return complete_any(batch, "test_any", test_one_by_one);
  return complete_any(batch, "test_any", [](int count, MPI_Request* natives, int* index, MPI_Status* status) {
    int finished = 0;
    const int code = MPI_Testany(count, natives, index, &finished, status);
    if (code == MPI_SUCCESS && finished == 0) *index = MPI_UNDEFINED;
    return code;
  });
}

using SomeFunction = int(int, MPI_Request*, int*, int*, MPI_Status*);

template <class Array>
static std::span<const std::size_t> complete_some(const BatchOf<Array>& batch, const char* operation,
                                                  SomeFunction* call) {
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
template <class Array>
static BatchOf<Array> batch_of(Array requests, std::size_t size, std::span<std::size_t> places = {}) {
  thread_local std::vector<MPI_Request> natives;
  thread_local std::vector<MPI_Status> statuses;
  thread_local std::vector<int> indices;
  natives.resize(size);
  statuses.resize(size);
  indices.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    natives[i] = native_under_way(requests[i]);
    if constexpr (tells_in_status<Array>) statuses[i].MPI_ERROR = MPI_SUCCESS;
  }
  return {requests, natives, statuses, indices, places};
}

// The caller of wait_some or test_some goes on reading these, so that nothing but the next of the two touches them.
static std::span<std::size_t> places_of(std::size_t size) {
  thread_local std::vector<std::size_t> places;
  places.resize(size);
  return places;
}

void wait_all(RequestArray requests) {
  wait_all(batch_of(requests, requests.size));
}
bool test_all(RequestArray requests) {
  return test_all(batch_of(requests, requests.size));
}
std::optional<std::size_t> wait_any(RequestArray requests) {
  return wait_any(batch_of(requests, requests.size));
}
std::optional<std::size_t> test_any(RequestArray requests) {
  return test_any(batch_of(requests, requests.size));
}

std::span<const std::size_t> wait_some(RequestArray requests) {
  return complete_some(batch_of(requests, requests.size, places_of(requests.size)), "wait_some", &MPI_Waitsome);
}

std::span<const std::size_t> test_some(RequestArray requests) {
  return complete_some(batch_of(requests, requests.size, places_of(requests.size)), "test_some", &MPI_Testsome);
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
  return {{detail::array_of(requests_),
           {natives_.data(), size},
           {statuses_.data(), size},
           {indices_.data(), size},
           {places_.data(), size}}};
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

bool test_all(std::span<PersistentRequest> requests) {
  return detail::test_all(detail::batch_of(requests, requests.size()));
}
std::optional<std::size_t> wait_any(std::span<PersistentRequest> requests) {
  return detail::wait_any(detail::batch_of(requests, requests.size()));
}
std::optional<std::size_t> test_any(std::span<PersistentRequest> requests) {
  return detail::test_any(detail::batch_of(requests, requests.size()));
}

std::span<const std::size_t> wait_some(std::span<PersistentRequest> requests) {
  const auto size = requests.size();
  return detail::complete_some(detail::batch_of(requests, size, detail::places_of(size)), "wait_some", &MPI_Waitsome);
}

std::span<const std::size_t> test_some(std::span<PersistentRequest> requests) {
  const auto size = requests.size();
  return detail::complete_some(detail::batch_of(requests, size, detail::places_of(size)), "test_some", &MPI_Testsome);
}

}  // namespace ferrompi
