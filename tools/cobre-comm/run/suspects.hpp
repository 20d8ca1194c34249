// Whose failure the others' follow from, where another program is the launcher: it ends the other ranks, and how those
// end looks like a failure too.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "endings.hpp"

namespace cobre::command {

struct Suspect {
  std::optional<std::size_t> place = {};  // the how-manieth that began to end
  bool gone = false;                      // it has come to its end
  std::optional<Ending> ending = {};      // how, where the kernel tells
};

struct Finding {
  enum class Kind {
    Well,        // nobody has failed so far
    Unclear,     // more is to be known soon
    Unknowable,  // it will not be known any more
    Known,
  };
  Kind kind = Kind::Well;
  std::size_t rank = 0;  // where it is known
};

/// The first that began to end and failed. Of one that ended with a code that is believed once some time has passed,
/// `settled`, in which no other did likewise: with MPICH all ranks do where one of them calls MPI_Abort, and any of
/// them may be the first to be gone.
[[nodiscard]] Finding find_culprit(std::span<const Suspect> ranks, bool settled);

}  // namespace cobre::command
