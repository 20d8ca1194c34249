// The one-line main.
#pragma once

#include <cobre/comm/factory.hpp>

#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace cobre::comm {
namespace detail {

/// One line on stderr: which rank, and the exception in flight with its causes.
void report_failure(std::size_t rank, std::size_t size) noexcept;
/// One line on stderr for a communicator that could not be made.
void report_start_failure() noexcept;

}  // namespace detail

/// Makes the communicator from the environment, calls `body(comm)` with the concrete backend and returns what `body`
/// returns (0 for void). If `body` throws, prints one line with rank and cause and ends every rank, so that one failing
/// rank never leaves the others hanging. If no communicator can be made, prints why and returns 1.
template <class Body>
[[nodiscard]] int run(Body&& body) {
  std::optional<CommBackend> communicator;
  try {
    communicator.emplace(create_communicator());
  } catch (...) {
    detail::report_start_failure();
    return 1;
  }
  return communicator->visit([&](const auto& comm) -> int {
    try {
      if constexpr (std::is_void_v<decltype(std::forward<Body>(body)(comm))>) {
        std::forward<Body>(body)(comm);
        return 0;
      } else {
        return std::forward<Body>(body)(comm);
      }
    } catch (...) {
      detail::report_failure(comm.rank(), comm.size());
      if (comm.size() == 1) return 1;
      comm.abort(1);
    }
  });
}

}  // namespace cobre::comm
