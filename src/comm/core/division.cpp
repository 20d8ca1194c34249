#include <cobre/comm/detail/division.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace cobre::comm::detail {

Division divide(const Where& where, const OperationRecord& record, std::span<const Seat> seats) {
  std::map<std::int32_t, std::vector<std::size_t>> by_color;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    if (seats[rank].color >= 0) by_color[seats[rank].color].push_back(rank);
  }
  Division division{where, record, {}, std::nullopt, 0};
  for (auto& [color, ranks] : by_color) {
    std::ranges::sort(ranks, {}, [&](std::size_t rank) { return std::pair(seats[rank].key, rank); });
    const auto own = std::ranges::find(ranks, where.rank);
    if (own != ranks.end()) {
      division.part = division.parts.size();
      division.rank = static_cast<std::size_t>(own - ranks.begin());
    }
    division.parts.push_back(std::move(ranks));
  }
  return division;
}

}  // namespace cobre::comm::detail
