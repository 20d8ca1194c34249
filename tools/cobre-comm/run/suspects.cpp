#include "suspects.hpp"

#include <algorithm>
#include <limits>

namespace cobre::command {

Finding find_culprit(std::span<const Suspect> ranks, bool settled) {
  // That of the ranks which have not ended well.
  std::optional<std::size_t> first;
  std::size_t earliest = std::numeric_limits<std::size_t>::max();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Suspect& one = ranks[rank];
    const std::size_t place = one.place.value_or(earliest);
    if (place >= earliest || (one.ending && !one.ending->failed())) continue;
    first = rank;
    earliest = place;
  }
  if (!first) return {};
  const Suspect& suspect = ranks[*first];
  if (!suspect.gone) return {.kind = Finding::Kind::Unclear};
  if (!suspect.ending) return {.kind = Finding::Kind::Unknowable};
  const Finding known{.kind = Finding::Kind::Known, .rank = *first};
  if (suspect.ending->signal != 0) return known;
  const auto ended_with_code = std::ranges::count_if(
      ranks, [](const Suspect& one) { return one.ending && one.ending->signal == 0 && one.ending->code != 0; });
  if (ended_with_code > 1) return {.kind = Finding::Kind::Unknowable};
  return settled || std::ranges::all_of(ranks, &Suspect::gone) ? known : Finding{.kind = Finding::Kind::Unclear};
}

}  // namespace cobre::command
