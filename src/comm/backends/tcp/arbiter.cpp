#include "comm/backends/tcp/arbiter.hpp"

#include <algorithm>

#include "comm/core/describe_operation.hpp"
#include "comm/core/disagreement.hpp"
#include "comm/core/format.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr auto patience_with_answers = 300ms;  // sentinels answer at once, unless their process is stopped
constexpr auto patience_with_witnesses = 1s;   // for the others to come and be counted after a disagreement
constexpr auto between_calls = 20ms;

std::uint64_t asked(const Inquiry& inquiry) {
  return inquiry.sequence;
}

}  // namespace

void Arbiter::ask(const Inquiry& inquiry, Clock::time_point now) {
  const auto same = [&](const Inquiry& one) {
    return one.question == inquiry.question && one.rank == inquiry.rank && one.sequence == inquiry.sequence;
  };
  if (std::ranges::none_of(inquiries_, same)) inquiries_.push_back(inquiry);
  if (!calling_) next_ = now;
}

void Arbiter::hear(const Testimony& testimony) {
  if (testimony.call == number_) testimonies_[testimony.rank] = testimony;
}

void Arbiter::dismiss() noexcept {
  inquiries_.clear();
  calling_ = false;
  disagreement_seen_.reset();
  next_.reset();
}

Arbiter::Ruling Arbiter::rule(Clock::time_point now, const Tree& tree) {
  Ruling ruling;
  if (inquiries_.empty()) {
    next_.reset();
    return ruling;
  }
  if (!calling_) {
    if (next_ && now < *next_) return ruling;
    calling_ = true;
    called_ = now;
    next_ = now + patience_with_answers;
    ruling.call = RollCall{++number_};
    return ruling;
  }
  bool complete = true;
  for (std::size_t rank = 0; rank < size_ && complete; ++rank) complete = !tree.expects(rank) || answered(rank);
  if (!complete && now < called_ + patience_with_answers) return ruling;
  calling_ = false;

  // Two ranks that wait for each other in different operations never send what the other waits for; the records tell.
  auto culprit = first_difference();
  if (!culprit) culprit = first_missed_for_a_fence();
  const bool told = std::ranges::any_of(inquiries_, [](const auto& i) { return i.question == Question::WhoDisagrees; });
  if (culprit || told) {
    const std::uint64_t place =
        culprit.value_or(told ? std::ranges::max(inquiries_, {}, asked).sequence : std::uint64_t{0});
    if (!disagreement_seen_) disagreement_seen_ = now;
    bool all_there = complete;
    for (std::size_t rank = 0; rank < size_ && all_there; ++rank) {
      all_there = !tree.expects(rank) || has_come_to(place, rank);
    }
    if (all_there || now >= *disagreement_seen_ + patience_with_witnesses) {
      ruling.verdict = mismatch(place);
      inquiries_.clear();
      next_.reset();
      return ruling;
    }
    next_ = now + between_calls;
    return ruling;
  }
  for (const Inquiry& inquiry : inquiries_) {
    if (inquiry.question == Question::TimeIsUp && !ruling.verdict) ruling.verdict = timeout(inquiry, tree);
    if (inquiry.question == Question::WhoIsMissing) {
      if (auto line = warning(inquiry, tree)) ruling.warnings.push_back(*line);
    }
  }
  inquiries_.clear();
  next_.reset();
  return ruling;
}

std::optional<detail::OperationRecord> Arbiter::record(std::size_t rank, std::uint64_t sequence) const {
  if (!answered(rank) || sequence == 0) return std::nullopt;
  const auto& line = testimonies_[rank].history[sequence % Journal::depth];
  if (line.sequence != sequence) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> Arbiter::first_difference() const {
  std::optional<std::uint64_t> first;
  for (std::size_t slot = 0; slot < Journal::depth; ++slot) {
    for (std::size_t a = 0; a < size_; ++a) {
      const std::uint64_t sequence = testimonies_[a].history[slot].sequence;
      const auto mine = record(a, sequence);
      if (!mine || (first && sequence >= *first)) continue;
      for (std::size_t b = a + 1; b < size_; ++b) {
        const auto theirs = record(b, sequence);
        if (theirs && !(*theirs == *mine)) first = sequence;
      }
    }
  }
  return first;
}

// Both wait, and who is first in the one is not in the other: so this holds however long ago each was asked.
std::optional<detail::OperationRecord> Arbiter::fence_instead_of(std::uint64_t sequence, std::size_t rank) const {
  const core::Standing& own = testimonies_[rank].fences;
  if (hosts_.empty() || !answered(rank) || own.entered >= sequence) return std::nullopt;
  for (std::size_t other = 0; other < size_; ++other) {
    const core::Standing& neighbour = testimonies_[other].fences;
    if (hosts_[other] != hosts_[rank] || !answered(other) || neighbour.entered < sequence) continue;
    if (neighbour.begun >= own.begun) continue;
    detail::OperationRecord fence = own.beside[own.begun % core::Aside::depth];
    fence.sequence = sequence;
    return fence;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Arbiter::first_missed_for_a_fence() const {
  std::optional<std::uint64_t> first;
  for (std::size_t rank = 0; rank < size_; ++rank) {
    const std::uint64_t missed = testimonies_[rank].fences.entered + 1;
    if (fence_instead_of(missed, rank) && (!first || missed < *first)) first = missed;
  }
  return first;
}

Verdict Arbiter::mismatch(std::uint64_t sequence) const {
  std::vector<std::optional<detail::OperationRecord>> records(size_);
  for (std::size_t rank = 0; rank < size_; ++rank) {
    records[rank] = record(rank, sequence);
    if (!records[rank]) records[rank] = fence_instead_of(sequence, rank);
  }
  return mismatch(core::judge(records));
}

std::optional<core::Disagreement> Arbiter::crossing() const {
  for (const auto standing : {&Testimony::requests, &Testimony::base}) {
    std::vector<std::optional<core::Standing>> standings(size_);
    for (std::size_t rank = 0; rank < size_; ++rank) {
      if (answered(rank)) standings[rank] = testimonies_[rank].*standing;
    }
    if (const auto records = core::crossing(standings)) return core::judge(*records);
  }
  return std::nullopt;
}

Verdict Arbiter::mismatch(const core::Disagreement& disagreement) {
  Verdict verdict;
  verdict.kind = VerdictKind::Mismatch;
  for (const std::size_t rank : disagreement.ranks) verdict.ranks.set(rank);
  verdict.subject = static_cast<std::uint32_t>(disagreement.odd);
  verdict.subject_record = disagreement.odd_record;
  verdict.other = static_cast<std::uint32_t>(disagreement.usual);
  verdict.other_record = disagreement.usual_record;
  return verdict;
}

std::optional<Verdict> Arbiter::timeout(const Inquiry& inquiry, const Tree& tree) const {
  // It may have come to an end while the question was on its way.
  if (answered(inquiry.rank) && testimonies_[inquiry.rank].left >= inquiry.sequence) return std::nullopt;
  if (const auto crossed = crossing()) return mismatch(*crossed);
  Verdict verdict;
  verdict.kind = VerdictKind::TimedOut;
  verdict.waited_microseconds = inquiry.waited_microseconds;
  bool any = tree.silent.has_value();
  if (tree.silent) verdict.ranks.set(*tree.silent);
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (!tree.expects(rank) || (answered(rank) && testimonies_[rank].entered >= inquiry.sequence)) continue;
    // A rank that does not even testify is stopped, or worse; but of those behind it in the tree nothing is known.
    if (!answered(rank) && stands_behind_silence(rank, tree)) continue;
    verdict.ranks.set(rank);
    any = true;
  }
  // All came, and some do not get through: those that are still inside.
  for (std::size_t rank = 0; rank < size_ && !any; ++rank) {
    if (rank != inquiry.rank && testimonies_[rank].left < inquiry.sequence) verdict.ranks.set(rank);
  }
  return verdict;
}

bool Arbiter::stands_behind_silence(std::size_t rank, const Tree& tree) const {
  const auto parent = tree.parent_of(rank);
  return parent && tree.expects(*parent) && !answered(*parent);
}

std::optional<Warning> Arbiter::warning(const Inquiry& inquiry, const Tree& tree) const {
  const auto inside = [&](std::size_t rank) {
    return answered(rank) && testimonies_[rank].entered == inquiry.sequence &&
           testimonies_[rank].left < inquiry.sequence;
  };
  // Of all ranks that wait, the lowest one speaks.
  for (std::size_t rank = 0; rank < inquiry.rank; ++rank) {
    if (inside(rank)) return std::nullopt;
  }
  const auto mine = record(inquiry.rank, inquiry.sequence);
  if (!inside(inquiry.rank) || !mine) return std::nullopt;
  Warning warning;
  warning.rank = inquiry.rank;
  warning.line.say(core::format("{} on rank {} of {}: waiting for {:.0f} s; {}", detail::to_string(mine->operation),
                                inquiry.rank, size_, static_cast<double>(inquiry.waited_microseconds) * 1e-6,
                                situation(tree)));
  return warning;
}

std::string Arbiter::situation(const Tree& tree) const {
  std::string text = "who is where: ";
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (rank > 0) text += ", ";
    const Testimony& testimony = testimonies_[rank];
    if (!answered(rank) && rank != tree.silent && (!tree.expects(rank) || stands_behind_silence(rank, tree))) {
      text += core::format("rank {} cannot be asked", rank);
    } else if (!answered(rank)) {
      text += core::format("rank {} does not answer", rank);
    } else if (const auto inside = record(rank, testimony.entered); inside && testimony.left < testimony.entered) {
      text += core::format("rank {} in {} (operation {})", rank, core::describe(*inside), testimony.entered);
    } else if (inside) {
      text += core::format("rank {} outside, after {} (operation {})", rank, detail::to_string(inside->operation),
                           testimony.left);
    } else {
      text += core::format("rank {} has not joined any operation", rank);
    }
  }
  if (const auto crossed = crossing()) text += "; " + core::describe(*crossed);
  return text;
}

}  // namespace cobre::comm::tcp
