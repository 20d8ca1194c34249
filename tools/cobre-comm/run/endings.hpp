// How ranks end, and which of several failures was the first.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace cobre::command {

struct Ending {
  int code = 0;           // of a rank that ended by itself
  int signal = 0;         // of one that was killed
  std::size_t place = 0;  // the how-manieth that was noticed

  [[nodiscard]] bool failed() const noexcept { return code != 0 || signal != 0; }
  /// What a shell would give for it.
  [[nodiscard]] int exit_code() const noexcept { return signal != 0 ? 128 + signal : code; }
  /// Whether it may have been made to end, by a peer or by us.
  [[nodiscard]] bool asked() const noexcept;
  /// What the ending of an agent says about its rank: codes above 128 are signals.
  [[nodiscard]] Ending of_a_rank() const noexcept;
  /// "was killed by signal 9 (SIGKILL)", "ended with code 3".
  [[nodiscard]] std::string words() const;
};

/// How this child ended, if it has. It stays a zombie, so that its number is not given to another process meanwhile.
[[nodiscard]] std::optional<Ending> look_at(pid_t child);

/// The rank whose failure the others' follow from; none where no rank failed. `known` is the one that the ranks
/// themselves named. Without it, a rank that crashed outranks one that was asked to end, as a failing rank asks its
/// peers, and after that the one that was noticed first.
[[nodiscard]] std::optional<std::size_t> first_failure(std::span<const std::optional<Ending>> endings,
                                                       std::optional<std::size_t> known);

}  // namespace cobre::command
