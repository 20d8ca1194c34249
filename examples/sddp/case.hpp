// A case on the rank that reads it: from a file, or made up from sizes and a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "system.hpp"

namespace sddp {

/// Something that the user wrote is wrong; `what()` is the whole message, on one line.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Case {
  explicit Case(const Dimensions& d)
      : dimensions(d), numbers(System::count(d)), hydros(d.hydros), thermals(d.thermals) {}

  [[nodiscard]] EditableSystem edit() { return {dimensions, numbers}; }
  [[nodiscard]] System system() const { return {dimensions, numbers}; }

  std::string name;
  Dimensions dimensions;
  std::vector<double> numbers;
  std::vector<std::string> hydros, thermals;  // names
};

/// What the command line may change in a case that it reads, and must tell of one that it makes.
struct CaseSizes {
  std::optional<std::uint64_t> stages, hydros, thermals, order, scenarios, openings, iterations, seed;
};

/// Reads a case as docs/sddp.md describes it. Throws InputError: file, field, reason.
[[nodiscard]] Case read_case(const std::filesystem::path& file, const CaseSizes& changes);

/// The text of a case file that gives this case.
[[nodiscard]] std::string write_case(const Case& data);

/// A made-up river system: plants in cascades of three, a wet and a dry season, thermal plants of rising cost.
[[nodiscard]] Case synthetic_case(const CaseSizes& sizes);

}  // namespace sddp
