// What an agent tells its launcher while it runs. Its exit code would come too late for the other hosts to end in time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "endings.hpp"

namespace cobre::command {

/// A line among those that the agent passes on from its ranks' standard error, because a remote shell has no fourth
/// stream, and that one is read where nobody reads the output. It begins with a mark of this job that ranks do not
/// know.
struct Notice {
  bool verdict = false;    // otherwise: a rank here has failed, and who is to blame is not known yet
  Ending ending = {};      // of the rank that is
  std::uint16_t port = 0;  // no failure at all: rank 0 is going to listen there
  std::string words = {};  // about it; none where that happened on another host

  [[nodiscard]] std::string line(std::string_view mark) const;
  /// What stands behind the mark. Nothing where that is no notice.
  [[nodiscard]] static std::optional<Notice> parse(std::string_view text);
};

/// The mark that a launcher gives to its agents. A line that goes astray still says what it is.
[[nodiscard]] std::string make_mark();

/// All that a launcher has heard from one agent.
struct Heard {
  std::optional<std::size_t> place = {};  // the how-manieth that had something to tell
  std::optional<Notice> verdict = {};
};

}  // namespace cobre::command
