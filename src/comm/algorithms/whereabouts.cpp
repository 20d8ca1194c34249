#include "comm/algorithms/whereabouts.hpp"

#include <optional>
#include <vector>

#include "comm/core/describe_operation.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::algorithms {
namespace {

/// One communicator that was made of others, as its note has it.
struct Part {
  MadeBy how;
  std::size_t rank;
  std::size_t size;
  bool under_way;
  bool beside;  // an operation for which its caller did not wait
  bool threw;
  std::uint64_t left;
  std::uint64_t after;
  std::optional<detail::OperationRecord> record;  // none where the rank has been replacing it
  std::string message;                            // that a call waits for
};

const char* name_of(MadeBy how) noexcept {
  switch (how) {
    case MadeBy::Split: return "split";
    case MadeBy::Duplicate: return "duplicate";
    case MadeBy::Node: return "node";
    case MadeBy::SplitLocal: return "split_local";
    case MadeBy::Nobody: break;
  }
  return "someone";
}

std::optional<Part> read(const PartNote& note) {
  const std::uint64_t made = note.made.load(std::memory_order_acquire);
  const std::uint64_t how = made & 0xff;
  if (how == 0 || how > static_cast<std::uint64_t>(MadeBy::SplitLocal)) return std::nullopt;
  constexpr std::uint64_t number = (std::uint64_t{1} << 28) - 1;
  Part part{.how = static_cast<MadeBy>(how),
            .rank = static_cast<std::size_t>(made >> 8 & number),
            .size = static_cast<std::size_t>(made >> 36),
            .under_way = false,
            .beside = false,
            .threw = false,
            .left = note.left.load(std::memory_order_acquire),
            .after = note.after.load(std::memory_order_acquire),
            .record = {},
            .message = words_of(note.mail)};
  const std::uint64_t entered = note.entered.load(std::memory_order_acquire);
  std::array<std::uint64_t, 4> words{};
  for (std::size_t i = 0; i < note.record.size(); ++i) words[i] = note.record[i].load(std::memory_order_acquire);
  const auto record = std::bit_cast<detail::OperationRecord>(words);
  // Not that of another operation than the one that was left last, or is under way.
  const bool whole = note.entered.load(std::memory_order_acquire) == entered && entered / 2 >= part.left;
  if (whole && record.operation <= detail::last_operation) part.record = record;
  part.under_way = entered / 2 > part.left;
  part.beside = entered % 2 != 0;
  part.threw = part.left != 0 && note.threw.load(std::memory_order_acquire) == part.left;
  return part;
}

std::vector<Part> read(const PartPage& page) {
  std::vector<Part> parts;
  for (const PartNote& note : page.notes) {
    if (auto part = read(note)) parts.push_back(std::move(*part));
  }
  return parts;
}

// Ranks in `what` are numbered as in that communicator, so who reads it needs to know which one this is there.
std::string in_part(const Part& part, const std::string& what, bool names_ranks) {
  const std::string words =
      core::format("{} of a communicator of {} made by {}", what,
                   part.size == 1 ? "1 rank" : core::format("{} ranks", part.size), name_of(part.how));
  return names_ranks ? core::format("{}, where it is rank {}", words, part.rank) : words;
}

std::string operation_of(const Part& part) {
  const std::string words = part.record ? core::describe(*part.record) : "an operation";
  // It runs in a duplicate of which the program knows nothing.
  if (part.beside) return "nonblocking " + words;
  return in_part(part, words, part.record && detail::is_rooted(part.record->operation));
}

std::string under_way(const Sighting& first, const std::vector<Part>& parts) {
  std::vector<std::string> places;
  if (first.kind == Sighting::Kind::In) places.push_back(first.words);
  for (const Part& part : parts) {
    if (!part.message.empty()) {
      places.push_back("in " + in_part(part, part.message, true));
    } else if (part.under_way && !part.beside) {
      places.push_back("in " + operation_of(part));
    }
  }
  return core::joined(places, " and ");
}

// What a part left after the first communicator's last is newer than that; which of several parts was the last is not
// noted.
std::string last(const Sighting& first, const std::vector<Part>& parts) {
  std::vector<std::string> places;
  for (const Part& part : parts) {
    if (part.left == 0 || part.after < first.left || part.under_way) continue;
    places.push_back((part.threw ? "in " : "after ") + operation_of(part));
  }
  if (places.empty()) return first.words;
  const std::string words = core::joined(places, " or ");
  return first.kind == Sighting::Kind::Gone ? words + ", or " + first.words : words;
}

std::string beside(const std::vector<Part>& parts) {
  std::vector<std::string> places;
  for (const Part& part : parts) {
    if (part.under_way && part.beside) places.push_back(operation_of(part));
  }
  return places.empty() ? "" : core::format(", with {} under way", core::joined(places, " and "));
}

}  // namespace

std::string whereabouts(const Sighting& first, const core::LedgerFile& file) {
  const auto& page = reinterpret_cast<const PartPage&>(file.parts);
  // Before all have come together nothing is made of them.
  if (first.kind == Sighting::Kind::Gathering || page.layout.load(std::memory_order_acquire) != PartPage::this_layout) {
    return first.words;
  }
  const std::vector<Part> parts = read(page);
  if (std::string now = under_way(first, parts); !now.empty()) return now;
  std::string words = last(first, parts);
  if (words.empty()) return words;
  words += beside(parts);
  const std::uint64_t unseen = page.unseen.load(std::memory_order_relaxed);
  if (unseen == 0) return words;
  return core::format("{}, or in one of {} communicators more than the {} that it keeps notes of", words, unseen,
                      PartPage::count);
}

}  // namespace cobre::comm::algorithms
