// What the hardware would need at least, from what it was just seen to do.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cobre::command::bench {

/// The time that one core, or two, needed for the elementary things: see bench/peers/limits.cpp.
class Limits {
 public:
  Limits() = default;
  /// Reads what the program printed.
  explicit Limits(const std::string& lines);

  /// No algorithm is faster, where `cores` of them do the work. Nothing where it was not
  /// measured.
  [[nodiscard]] std::optional<double> of(const std::string& name, std::size_t bytes, std::size_t ranks,
                                         std::size_t cores, bool over_sockets) const;

  /// The sizes that `of` will ask for.
  [[nodiscard]] static std::vector<std::size_t> sizes(std::size_t bytes, std::size_t ranks);

  /// Name and size of each, and its microseconds.
  [[nodiscard]] const std::map<std::pair<std::string, std::size_t>, double>& all() const noexcept { return times_; }

 private:
  [[nodiscard]] std::optional<double> time(const std::string& what, std::size_t bytes) const;
  /// Into another process: in pieces through memory of both, which stay in the caches so that only one copy counts, or
  /// by the kernel at once.
  [[nodiscard]] std::optional<double> copy(std::size_t bytes) const;
  [[nodiscard]] std::optional<double> through_memory(const std::string& operation, std::size_t bytes, std::size_t ranks,
                                                     std::size_t cores) const;
  [[nodiscard]] std::optional<double> through_sockets(const std::string& operation, std::size_t bytes,
                                                      std::size_t ranks) const;

  std::map<std::pair<std::string, std::size_t>, double> times_;
};

}  // namespace cobre::command::bench
