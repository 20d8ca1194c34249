#include "comm/core/environment.hpp"

#include <cobre/comm/base/number.hpp>
#include <cobre/comm/errors.hpp>

#include <algorithm>
#include <cstdlib>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::core {

bool is_set(const char* variable) {
  return std::getenv(variable) != nullptr;
}

void require_rank_of(const char* backend, Setting rank, Setting size, std::size_t largest) {
  if (size.value == 0 || size.value > largest) {
    throw InvalidConfiguration(backend, size.variable, std::to_string(size.value),
                               core::format("from 1 to {}", largest));
  }
  if (rank.value >= size.value) {
    throw InvalidConfiguration(
        backend, rank.variable, std::to_string(rank.value),
        core::format("from 0 to {}, because {} is {}", size.value - 1, size.variable, size.value));
  }
}

std::optional<std::string> EnvironmentReader::text(const char* variable) const {
  const char* const raw = std::getenv(variable);
  if (raw == nullptr) return std::nullopt;
  std::string value = raw;
  const bool control =
      std::ranges::any_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (value.empty() || control || !is_utf8(value)) {
    throw InvalidConfiguration(backend_, variable, std::move(value), "text in UTF-8 that is not empty");
  }
  return value;
}

std::optional<std::uint64_t> EnvironmentReader::number(const char* variable, std::uint64_t lowest,
                                                       std::uint64_t highest) const {
  const char* const raw = std::getenv(variable);
  if (raw == nullptr) return std::nullopt;
  std::string value = raw;
  const auto number = detail::parse_number<std::uint64_t>(value);
  if (!number || *number < lowest || *number > highest) {
    throw InvalidConfiguration(backend_, variable, std::move(value),
                               core::format("a whole number from {} to {}", lowest, highest));
  }
  return number;
}

std::optional<bool> EnvironmentReader::flag(const char* variable) const {
  const char* const raw = std::getenv(variable);
  if (raw == nullptr) return std::nullopt;
  const std::string value = raw;
  if (value == "0") return false;
  if (value == "1") return true;
  throw InvalidConfiguration(backend_, variable, value, "0 or 1");
}

std::chrono::seconds EnvironmentReader::timeout() const {
  constexpr std::uint64_t a_year = 366UL * 24 * 3600;
  return std::chrono::seconds(number("COBRE_COMM_TIMEOUT_SECS", 0, a_year).value_or(0));
}

std::string EnvironmentReader::required_text(const char* variable) {
  auto value = text(variable);
  if (!value) missing_.emplace_back(variable);
  return std::move(value).value_or("");
}

std::uint64_t EnvironmentReader::required_number(const char* variable, std::uint64_t lowest, std::uint64_t highest) {
  const auto value = number(variable, lowest, highest);
  if (!value) missing_.emplace_back(variable);
  return value.value_or(lowest);
}

void EnvironmentReader::require_all() const {
  if (!missing_.empty()) throw MissingConfiguration(backend_, missing_);
}

}  // namespace cobre::comm::core
