// Handing a job over to the launcher of an MPI library.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace cobre::command {

enum class MpiFamily { OpenMpi, Mpich, Unknown };

/// The MPI library that the program was linked with, as far as its file tells.
[[nodiscard]] MpiFamily family_of(const std::string& program);
/// The one that this command was linked with.
[[nodiscard]] MpiFamily own_family();

/// The launcher that belongs to that library, if one is in PATH.
[[nodiscard]] std::optional<std::string> launcher_of(MpiFamily family);

/// The command line that starts the program under MPI. Throws UsageError where no launcher is found.
[[nodiscard]] std::vector<std::string> mpi_command(const RunOptions& options, const std::string& program,
                                                   std::size_t ranks);

/// Becomes the launcher, with a lookout beside it that names the rank that fails first. Returns only to throw.
[[noreturn]] void hand_over(std::vector<std::string> command, const RunOptions& options, std::size_t ranks);

}  // namespace cobre::command
