// Many requests at once. Finished ones are skipped, wherever they stand.
//
// The functions work on any contiguous range of `Request` or `Pending`, such as a std::vector;
// <ferrompi/persistent.hpp> has the same for `PersistentRequest`. None of them allocates once a thread has used as many
// requests before. Where an operation fails, all others are still brought to the state that MPI reports, and the error
// names the place of the first that failed.
#pragma once

#include <ferrompi/request.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

namespace ferrompi {

namespace detail {

struct Batch;

/// Requests that stand in memory at equal distances, whatever they are part of.
struct RequestArray {
  std::byte* first;
  std::size_t stride;
  std::size_t size;

  [[nodiscard]] Request& operator[](std::size_t i) const noexcept {
    return *reinterpret_cast<Request*>(first + i * stride);
  }
};

template <class R>
concept RequestRange = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
    std::derived_from<std::ranges::range_value_t<R>, Request>;

template <RequestRange R>
RequestArray array_of(R& requests) noexcept {
  // A Pending is a Request and nothing else before it, so the two have one address.
  Request* first = std::ranges::data(requests);
  return {reinterpret_cast<std::byte*>(first), sizeof(std::ranges::range_value_t<R>), std::ranges::size(requests)};
}

void wait_all(RequestArray requests);
bool test_all(RequestArray requests);
std::optional<std::size_t> wait_any(RequestArray requests);
std::optional<std::size_t> test_any(RequestArray requests);
/// Valid until the next of these two on this thread.
std::span<const std::size_t> wait_some(RequestArray requests);
std::span<const std::size_t> test_some(RequestArray requests);

}  // namespace detail

/// Waits for all.
template <detail::RequestRange R>
void wait_all(R&& requests) {
  detail::wait_all(detail::array_of(requests));
}

/// True if all are over; then all are complete. Otherwise none has changed.
template <detail::RequestRange R>
[[nodiscard]] bool test_all(R&& requests) {
  return detail::test_all(detail::array_of(requests));
}

/// Waits for one that is still in flight and gives its place; nothing if none is in flight.
template <detail::RequestRange R>
[[nodiscard]] std::optional<std::size_t> wait_any(R& requests) {
  return detail::wait_any(detail::array_of(requests));
}

/// The place of one that has just finished; nothing if none has, or none was in flight.
template <detail::RequestRange R>
[[nodiscard]] std::optional<std::size_t> test_any(R& requests) {
  return detail::test_any(detail::array_of(requests));
}

/// Waits until at least one that is in flight is over and gives the places of all that are; empty if none is in flight.
/// The result is valid until the next `wait_some` or `test_some` on this thread.
template <detail::RequestRange R>
[[nodiscard]] std::span<const std::size_t> wait_some(R& requests) {
  return detail::wait_some(detail::array_of(requests));
}

/// The places of all that have just finished. Valid as for `wait_some`.
template <detail::RequestRange R>
[[nodiscard]] std::span<const std::size_t> test_some(R& requests) {
  return detail::test_some(detail::array_of(requests));
}

/// Requests whose MPI handles stand side by side, so that a call passes them to MPI as they are. For sets that are
/// waited on again and again.
class [[nodiscard]] RequestSet {
 public:
  /// Takes the request over and gives its place. Places never change until `clear()`.
  std::size_t add(Request request);
  [[nodiscard]] std::size_t size() const noexcept { return requests_.size(); }
  /// The one at a place, finished or not.
  [[nodiscard]] const Request& operator[](std::size_t place) const { return requests_.at(place); }
  /// Drops all, as destroying them would.
  void clear() noexcept;

  void wait_all();
  [[nodiscard]] bool test_all();
  [[nodiscard]] std::optional<std::size_t> wait_any();
  [[nodiscard]] std::optional<std::size_t> test_any();
  /// Valid until the next call on this set.
  [[nodiscard]] std::span<const std::size_t> wait_some();
  [[nodiscard]] std::span<const std::size_t> test_some();

 private:
  [[nodiscard]] detail::Batch batch();

  std::vector<Request> requests_;
  std::vector<MPI_Request> natives_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> indices_;
  std::vector<std::size_t> places_;
};

}  // namespace ferrompi
