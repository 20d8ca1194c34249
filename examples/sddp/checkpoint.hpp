// Training on disk: what was computed so far, enough to go on to the very same bits, on any number of ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "system.hpp"
#include "trace.hpp"

namespace sddp {

struct Checkpoint {
  std::vector<Iteration> trace;
  std::vector<double> cuts;    // [stage][slot][1 + state]
  std::vector<double> states;  // [stage][slot][state]
};

/// Tells one case, and one way to solve it, from another; how many iterations are wanted does not count.
[[nodiscard]] std::uint64_t fingerprint(const System& system, bool select_cuts);

/// The file is whole or as it was before: written beside, flushed, and put in its place. Throws std::runtime_error.
void write_checkpoint(const std::filesystem::path& file, std::uint64_t fingerprint, const Checkpoint& checkpoint);

/// Throws InputError with the file and the reason: cannot be read, damaged, of another case.
[[nodiscard]] Checkpoint read_checkpoint(const std::filesystem::path& file, std::uint64_t fingerprint,
                                         const Dimensions& dimensions);

}  // namespace sddp
