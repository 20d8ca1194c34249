// What `cobre-comm run` was asked for.
#pragma once

#include <cobre/comm/backend_kind.hpp>

#include <unistd.h>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cobre::command {

/// The user asked for something that cannot be: one line, and exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Binding { None, Core, Numa };
enum class Colour { Auto, Always, Never };

/// Whether what goes to this stream of ours is coloured.
[[nodiscard]] inline bool wants_colour(Colour colour, int stream) {
  return colour == Colour::Always || (colour == Colour::Auto && isatty(stream) != 0);
}

struct RunOptions {
  std::optional<std::size_t> ranks;  // as many as there are cores where it is missing
  comm::BackendKind backend = comm::BackendKind::Auto;
  Binding binding = Binding::None;
  bool tag = false;
  Colour colour = Colour::Auto;
  bool keep_going = false;
  std::optional<double> timeout_seconds;
  std::string hosts;     // "a:4,b:4"
  std::string hostfile;  // the same in a file
  std::string remote_shell = "ssh";
  bool agent = false;   // started by another one of us
  std::string lookout;  // likewise, through a launcher of MPI: who is to be called
  bool verbose = false;
  bool dry_run = false;
  std::vector<std::string> command;  // the program and its arguments
};

}  // namespace cobre::command
