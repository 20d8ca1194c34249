// The command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "case.hpp"
#include "train.hpp"

namespace sddp {

struct Options {
  bool help = false;
  std::filesystem::path case_file;  // empty: a made-up case
  CaseSizes sizes;
  Settings settings{.threads = 0};           // 0 threads: as many CPUs as Slurm gives a task, else one
  std::filesystem::path checkpoint, resume;  // files to write and to go on from
  std::uint64_t every = 10;                  // iterations between two checkpoints
  std::filesystem::path json, html, write_case;
};

/// Throws InputError.
[[nodiscard]] Options parse_options(std::span<const char* const> arguments);

[[nodiscard]] std::string usage();

}  // namespace sddp
