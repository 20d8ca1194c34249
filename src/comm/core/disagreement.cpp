#include "comm/core/disagreement.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

#include "comm/core/describe_operation.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::core {

Disagreement judge(std::span<const std::optional<detail::OperationRecord>> records) {
  struct Party {
    detail::OperationRecord record;
    std::vector<std::size_t> ranks;
  };
  std::vector<Party> parties;  // by their lowest rank
  Disagreement result;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    const auto& record = records[rank];
    if (!record) continue;
    auto party = std::ranges::find(parties, *record, &Party::record);
    if (party == parties.end()) party = parties.insert(party, Party{*record, {}});
    party->ranks.push_back(rank);
    result.ranks.push_back(rank);
  }
  if (parties.empty()) return result;

  const auto members = [](const Party& party) { return party.ranks.size(); };
  const auto largest = std::ranges::max_element(parties, {}, members);
  // Nobody can tell who of two equally large parties is right.
  const bool tie = std::ranges::count(parties, largest->ranks.size(), members) > 1;
  if (!tie && parties.size() > 1) {
    std::erase_if(result.ranks, [&](std::size_t rank) { return std::ranges::count(largest->ranks, rank) > 0; });
  }
  const auto other = parties.size() < 2 || largest != parties.begin() ? parties.begin() : parties.begin() + 1;
  result.usual = largest->ranks.front();
  result.usual_record = largest->record;
  result.odd = other->ranks.front();
  result.odd_record = other->record;
  return result;
}

std::string describe(const Disagreement& disagreement) {
  return core::format("rank {} is in {}, rank {} in {}", disagreement.usual, describe(disagreement.usual_record),
                      disagreement.odd, describe(disagreement.odd_record));
}

void throw_mismatch(const Where& where, const Disagreement& disagreement) {
  const auto& [odd, usual] = std::tie(disagreement.odd_record, disagreement.usual_record);
  const char* const field = is_beside(odd) != is_beside(usual) ? "operation" : detail::differing_field(odd, usual);
  throw CollectiveMismatch(where, field == nullptr ? "sequence" : field, disagreement.ranks, describe(disagreement));
}

void require_agreement(const Where& where, std::span<const detail::OperationRecord> records) {
  if (std::ranges::adjacent_find(records, std::not_equal_to{}) == records.end()) return;
  throw_mismatch(where, judge(std::vector<std::optional<detail::OperationRecord>>(records.begin(), records.end())));
}

void throw_length_mismatch(const Where& where, const LengthMismatch& mismatch) {
  const auto [lower, upper] = std::minmax(mismatch.sender, mismatch.receiver);
  throw CollectiveMismatch(where, "counts", {lower, upper},
                           core::format("rank {} sends {} to rank {}, which expects {}", mismatch.sender,
                                        elements(mismatch.sent), mismatch.receiver, mismatch.expected));
}

}  // namespace cobre::comm::core
