// Settings from the environment, read strictly: what is there must make sense, and what is missing is said at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cobre::comm::core {

/// Whether the variable is there at all, even empty.
bool is_set(const char* variable);

/// A number of a configuration, and the variable that it may come from.
struct Setting {
  const char* variable;
  std::size_t value;
};
/// Throws InvalidConfiguration where there are not 1 to `largest` ranks, or this is none of them.
void require_rank_of(const char* backend, Setting rank, Setting size, std::size_t largest);

/// Reads the variables of one backend. A value that is malformed throws InvalidConfiguration at once; a required one
/// that is absent is remembered, and `require_all()` reports all of them together.
class EnvironmentReader {
 public:
  explicit EnvironmentReader(std::string backend) : backend_(std::move(backend)) {}

  /// Not empty, valid UTF-8, no control characters.
  std::optional<std::string> text(const char* variable) const;

  /// Decimal digits and nothing else, from `lowest` to `highest`.
  std::optional<std::uint64_t> number(const char* variable, std::uint64_t lowest, std::uint64_t highest) const;

  /// "0" or "1".
  std::optional<bool> flag(const char* variable) const;

  /// COBRE_COMM_TIMEOUT_SECS, which all backends take: of one collective, 0 for ever.
  std::chrono::seconds timeout() const;

  std::string required_text(const char* variable);
  std::uint64_t required_number(const char* variable, std::uint64_t lowest, std::uint64_t highest);

  /// Call after the last `required_…`: until then an absent value reads as empty or as the lowest number.
  void require_all() const;

 private:
  std::string backend_;
  std::vector<std::string> missing_;
};

}  // namespace cobre::comm::core
