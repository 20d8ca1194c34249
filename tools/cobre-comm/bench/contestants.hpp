// Who can be measured: the backends of this library, and the peers that they stand beside.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cobre::command::bench {

struct Contestant {
  std::string name;  // on the command line, in tables and records
  bool ours;
  bool over_sockets;                     // every byte through TCP, also between two ranks of one machine
  std::string backend;                   // of ours: what the factory calls it
  std::string program;                   // what is started
  std::string package;                   // of Debian, that a peer needs
  std::vector<std::string> levels;       // the thread levels to try; one without a name where there are none
  std::vector<std::string> environment;  // "NAME=value"
};

/// The names of all backends, or of all peers.
[[nodiscard]] std::vector<std::string> contestants(bool ours);
[[nodiscard]] std::vector<std::string> backends_of_this_build();
/// Null where there is none of that name.
[[nodiscard]] const Contestant* find_contestant(const std::string& name);

/// The folder with the programs that we start: beside this command, installed or in the build tree. Throws UsageError
/// that says where it looked.
[[nodiscard]] std::string program_folder();

/// Gloo and Boost.MPI are measured in what every backend and every peer has.
[[nodiscard]] bool has(const Contestant& contestant, const std::string& operation);

/// Why it cannot be measured here, in the pattern where there is one; nothing where it can.
[[nodiscard]] std::optional<std::string> reason_for_absence(const Contestant& contestant, const std::string& folder,
                                                            const std::string& pattern);

/// The command line that starts so many ranks of it. What to measure follows.
[[nodiscard]] std::vector<std::string> start_command(const Contestant& contestant, const std::string& level,
                                                     std::size_t ranks, bool bind, const std::string& folder);

}  // namespace cobre::command::bench
