// Why an operation cannot go on: finding it out, telling everyone, and saying it in words.

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "comm/backends/shm/channel.hpp"
#include "comm/core/describe_operation.hpp"
#include "comm/core/disagreement.hpp"
#include "comm/core/format.hpp"
#include "comm/core/progress.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::shm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto patience_with_watch = 1s;      // of this process, to say what another's has said already
constexpr auto patience_with_witnesses = 1s;  // for the others to come and be counted after a disagreement

}  // namespace

std::vector<std::size_t> Channel::names_of(const RankSet& ranks) const {
  std::vector<std::size_t> names;
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (ranks.test(rank)) names.push_back(name_of(rank));
  }
  return names;
}

FailedPeer Channel::obituary(std::size_t rank) const {
  FailedPeer failed = peers_.obituary(rank);
  failed.rank = name_of(rank);
  return failed;
}

std::string Channel::explain(const Verdict& verdict) const {
  switch (verdict.kind) {
    case VerdictKind::PeerFailed: return core::format("rank {} died or left the group", name_of(verdict.subject));
    case VerdictKind::TimedOut:
      return core::format("{} did not join an operation in time", core::rank_list(names_of(verdict.ranks)));
    case VerdictKind::Mismatch: return "the ranks called different operations";
    case VerdictKind::LengthMismatch: return "the ranks did not agree on their counts";
    case VerdictKind::ReductionThrew:
      return core::format("the reduction of the user threw on rank {}", name_of(verdict.subject));
    case VerdictKind::Interrupted: return "the job that these ranks belong to is finished";
    case VerdictKind::None: break;
  }
  return "an operation failed";
}

// The first one writes, for all. `state` goes from 0 to "rank r is writing" by compare-and-swap, so there is one
// writer; it ends at "written" with a release that pairs with the acquire in read_verdict().
template <class Fill>
void Channel::pronounce_in(ChannelBlock& block, const Fill& fill) noexcept {
  Word none = 0;
  const Word writing = 2 * (rank_ + 1);
  if (!block.verdict.state.compare_exchange_strong(none, writing, std::memory_order_seq_cst)) return;
  fill(block.verdict);
  block.verdict.state.store(writing + 1, std::memory_order_release);
  for (std::size_t rank = 0; rank < size_; ++rank) block.rank(rank).bell.wake_all();
}

// Null where its writer died over it.
const Verdict* Channel::read_verdict() noexcept {
  for (;;) {
    const Word state = block_.verdict.state.load(std::memory_order_acquire);
    if (state % 2 == 1) return &block_.verdict;
    const std::size_t writer = state / 2 - 1;
    if (!peers_.alive(writer) && block_.verdict.state.load(std::memory_order_acquire) % 2 == 0) return nullptr;
    std::this_thread::yield();
  }
}

void Channel::conclude(const Where& where) {
  const Verdict* const verdict = read_verdict();
  if (verdict == nullptr) {
    const std::size_t writer = block_.verdict.state.load(std::memory_order_acquire) / 2 - 1;
    finished_ = core::format("rank {} died", name_of(writer));
    if (on_failure_) on_failure_(writer);
    throw PeerFailed(where, obituary(writer));
  }
  if (!finished_) finished_ = explain(*verdict);
  switch (verdict->kind) {
    case VerdictKind::PeerFailed: {
      if (on_failure_) on_failure_(verdict->subject);
      FailedPeer peer{.rank = name_of(verdict->subject), .host = {}, .pid = {}, .signal = {}, .exit_code = {}};
      if (verdict->pid != 0) peer.pid = verdict->pid;
      if (verdict->signal != 0) peer.signal = verdict->signal;
      if (verdict->exit_code >= 0) peer.exit_code = verdict->exit_code;
      throw PeerFailed(where, std::move(peer));
    }
    case VerdictKind::TimedOut: throw TimedOut(where, verdict->waited_seconds, names_of(verdict->ranks));
    case VerdictKind::Mismatch:
      core::throw_mismatch(where, {.usual = name_of(verdict->other),
                                   .usual_record = verdict->other_record,
                                   .odd = name_of(verdict->subject),
                                   .odd_record = verdict->subject_record,
                                   .ranks = names_of(verdict->ranks)});
    case VerdictKind::LengthMismatch:
      core::throw_length_mismatch(where, {.sender = name_of(verdict->subject),
                                          .receiver = name_of(verdict->other),
                                          .sent = verdict->subject_record.count,
                                          .expected = verdict->other_record.count});
    case VerdictKind::Interrupted: throw_why(where); break;
    case VerdictKind::ReductionThrew:
    case VerdictKind::None: break;
  }
  throw CollectiveFailed(where, 0, explain(*verdict));
}

void Channel::refuse(const Where& where) {
  if (finished_) throw InvalidCommunicator(where, *finished_);
  conclude(where);
}

void Channel::pronounce_failure(const FailedPeer& failed) noexcept {
  pronounce([&](Verdict& verdict) {
    verdict.kind = VerdictKind::PeerFailed;
    verdict.subject = static_cast<std::uint32_t>(failed.rank);
    verdict.pid = failed.pid.value_or(0);
    verdict.signal = failed.signal.value_or(0);
    verdict.exit_code = failed.exit_code.value_or(-1);
  });
}

// A rank that gives up because of what it was told in another communicator is not the one with which it began.
void Channel::finish(const std::string& reason) noexcept {
  if (!finished_) finished_ = reason;
  pronounce_failure(peers_.obituary(culprit_behind(rank_)));
}

void Channel::finish_because_reduction_threw() noexcept {
  if (!finished_) finished_ = "a reduction of the user threw on this rank";
  pronounce([&](Verdict& verdict) {
    verdict.kind = VerdictKind::ReductionThrew;
    verdict.subject = static_cast<std::uint32_t>(rank_);
  });
}

void Channel::interrupt(Reason why) noexcept {
  {
    const std::lock_guard lock(interruption_);
    if (!why_) why_ = std::move(why);
  }
  interrupted_.notify_all();
  pronounce([&](Verdict& verdict) { verdict.kind = VerdictKind::Interrupted; });
}

// Another process may have heard of it first; this one's watch is about to.
void Channel::throw_why(const Where& where) {
  std::unique_lock lock(interruption_);
  if (interrupted_.wait_for(lock, patience_with_watch, [&] { return static_cast<bool>(why_); })) why_(where);
}

void Channel::await_judgement_of_all(const Where& where) {
  const Verdict* const verdict = read_verdict();
  if (verdict == nullptr || verdict->kind != VerdictKind::Mismatch) return;
  const auto is_fence = [](const detail::OperationRecord& one) { return one.operation == detail::Operation::Fence; };
  if (!is_fence(verdict->subject_record) || !is_fence(verdict->other_record)) throw_why(where);
}

// A rank that has left this operation is not needed for it any more, whatever became of it since.
void Channel::check_for_failure(const std::atomic<Word>& word, Word value) {
  const auto needed = [&](std::size_t rank) {
    return block_.rank(rank).finished.sequence.load(std::memory_order_acquire) < sequence_;
  };
  std::optional<FailedPeer> failed;
  RankSet dead = peers_.dead();
  // One that could not come because of rank 0 ends after it, perhaps while the kernel looks at one after the other.
  if (dead.any()) dead = peers_.dead();
  for (std::size_t rank = 0; rank < size_ && !failed; ++rank) {
    if (rank == rank_) continue;
    if ((dead.test(rank) || has_left(rank)) && needed(rank)) failed = peers_.obituary(culprit_behind(rank));
  }
  // Looked at last: what a rank did before it died or left still counts.
  if (word.load(std::memory_order_acquire) >= value) return;
  if (failed) pronounce_failure(*failed);
  if (block_.verdict.state.load(std::memory_order_acquire) != 0) conclude();
}

// Two ranks that wait for each other in different operations never post what the other waits for; their records tell.
void Channel::check_for_disagreement() {
  for (std::size_t rank = 0; rank < size_; ++rank) {
    const auto theirs = record_of(rank, sequence_);
    if (theirs && theirs->chain != chain_) disagree();
  }
}

// The first operation in which some rank did something else; who did so is put to the vote.
void Channel::disagree() {
  const Word oldest = sequence_ > record_depth / 2 ? sequence_ - record_depth / 2 : 1;
  Word culprit = sequence_;
  for (Word candidate = oldest; candidate < culprit; ++candidate) {
    const auto mine = record_of(rank_, candidate);
    for (std::size_t rank = 0; rank < size_ && mine; ++rank) {
      const auto theirs = record_of(rank, candidate);
      if (theirs && !(theirs->record == mine->record)) culprit = candidate;
    }
  }

  const auto give_up = Clock::now() + patience_with_witnesses;
  const auto all_here = [&] {
    const RankSet dead = peers_.dead();
    for (std::size_t rank = 0; rank < size_; ++rank) {
      const bool gone = dead.test(rank) || has_left(rank);
      if (!gone && !has_entered(rank, culprit)) return false;
    }
    return true;
  };
  while (!all_here() && Clock::now() < give_up && block_.verdict.state.load(std::memory_order_acquire) == 0) {
    std::this_thread::sleep_for(100us);
  }

  std::vector<std::optional<detail::OperationRecord>> records(size_);
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (const auto theirs = record_of(rank, culprit)) records[rank] = theirs->record;
  }
  disagree(core::judge(records));
}

void Channel::disagree(const core::Disagreement& disagreement) {
  const auto fill = [&](Verdict& verdict) {
    verdict.kind = VerdictKind::Mismatch;
    for (const std::size_t rank : disagreement.ranks) verdict.ranks.set(rank);
    verdict.other = static_cast<std::uint32_t>(disagreement.usual);
    verdict.other_record = disagreement.usual_record;
    verdict.subject = static_cast<std::uint32_t>(disagreement.odd);
    verdict.subject_record = disagreement.odd_record;
  };
  // Those who are in a call of the communicator itself wait in vain as well.
  const bool concerns_base = core::is_beside(disagreement.odd_record) || core::is_beside(disagreement.usual_record);
  if (base_ != nullptr && concerns_base && core::is_beside_caller()) pronounce_in(*base_, fill);
  pronounce(fill);
  conclude();
}

// Ranks that began a request and a call that waits in another order: looked for where time is up, because as long as
// each comes to both in the end, the order does no harm.
std::optional<core::Disagreement> Channel::crossing() const {
  ChannelBlock& common = base_ != nullptr && core::is_beside_caller() ? *base_ : block_;
  std::vector<std::optional<core::Standing>> standings(size_);
  for (std::size_t rank = 0; rank < size_; ++rank) {
    RankBlock& block = common.rank(rank);
    const auto line = [&](Word sequence) { return block.records[sequence % record_depth].copy(sequence); };
    const auto entered = [&] {
      const Word left = block.finished.sequence.load(std::memory_order_acquire);
      return line(left + 1) ? left + 1 : left;
    };
    const auto last = [&](Word sequence) -> std::optional<detail::OperationRecord> {
      const auto copy = line(sequence);
      return copy ? std::optional(copy->record) : std::nullopt;
    };
    standings[rank] = core::Standing::of(entered, last, block.aside);
  }
  const auto records = core::crossing(standings);
  if (!records) return std::nullopt;
  return core::judge(*records);
}

// The one that this is a duplicate of was given up because of what happens here.
void Channel::check_base() {
  if (base_ == nullptr) return;
  const Verdict& verdict = base_->verdict;
  if (verdict.state.load(std::memory_order_acquire) % 2 == 0 || verdict.kind != VerdictKind::Mismatch) return;
  if (!core::is_beside(verdict.subject_record) && !core::is_beside(verdict.other_record)) return;
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (verdict.ranks.test(rank)) ranks.push_back(rank);
  }
  disagree({.usual = verdict.other,
            .usual_record = verdict.other_record,
            .odd = verdict.subject,
            .odd_record = verdict.subject_record,
            .ranks = std::move(ranks)});
}

void Channel::disagree_on_length(const core::LengthMismatch& mismatch) {
  pronounce([&](Verdict& verdict) {
    verdict.kind = VerdictKind::LengthMismatch;
    verdict.subject = static_cast<std::uint32_t>(mismatch.sender);
    verdict.other = static_cast<std::uint32_t>(mismatch.receiver);
    verdict.subject_record.count = mismatch.sent;
    verdict.other_record.count = mismatch.expected;
  });
  conclude();
}

RankSet Channel::missing(std::size_t awaited) const noexcept {
  RankSet ranks;
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (rank != rank_ && !has_entered(rank, sequence_)) ranks.set(rank);
  }
  if (ranks.none()) ranks.set(awaited);
  return ranks;
}

void Channel::time_out(std::size_t awaited, double seconds) {
  if (const auto crossed = crossing()) disagree(*crossed);
  pronounce([&](Verdict& verdict) {
    verdict.kind = VerdictKind::TimedOut;
    verdict.ranks = missing(awaited);
    verdict.waited_seconds = seconds;
  });
  conclude();
}

void Channel::throw_unreachable(std::size_t rank, int error) {
  // The kernel takes a dying process's memory away before it reports the process dead.
  const auto give_up = Clock::now() + 1s;
  while (peers_.alive(rank) && Clock::now() < give_up && block_.verdict.state.load(std::memory_order_acquire) == 0) {
    std::this_thread::sleep_for(100us);
  }
  const FailedPeer failed = peers_.obituary(rank);
  if (peers_.alive(rank) && block_.verdict.state.load(std::memory_order_acquire) == 0) {
    finish(core::format("the memory of rank {} could not be reached", name_of(rank)));
    throw CollectiveFailed(
        where(), error,
        core::format("the memory of rank {} cannot be read any more; switch single_copy off", name_of(rank)));
  }
  pronounce_failure(failed);
  conclude();
}

// Of all ranks that wait, the lowest one speaks.
bool Channel::speaks_for_waiting() const noexcept {
  for (std::size_t rank = 0; rank < rank_; ++rank) {
    const RankBlock& block = block_.rank(rank);
    const bool inside =
        has_entered(rank, sequence_) && block.finished.sequence.load(std::memory_order_acquire) < sequence_;
    if (inside) return false;
  }
  return true;
}

// Whether this rank is the one to give the warning that is due, or gives it because the one whose turn it was did not,
// being stopped itself: after twice the time, and once for all.
bool Channel::may_warn(Clock::duration waited) noexcept {
  if (!speaks_for_waiting() && waited < 2 * next_warning_) return false;
  constexpr Word most_warnings = 64;  // of one operation: the times between them double
  const Word mine = sequence_ * most_warnings + ++warnings_;
  next_warning_ *= 2;
  std::atomic<Word>& last = block_.warned.value;
  // Relaxed, here and below: nothing follows from it but who speaks.
  Word given = last.load(std::memory_order_relaxed);
  while (given < mine) {
    if (last.compare_exchange_weak(given, mine, std::memory_order_relaxed)) return true;
  }
  return false;
}

std::string Channel::situation() const {
  std::string text = "who is where: ";
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (rank > 0) text += ", ";
    const Word left = block_.rank(rank).finished.sequence.load(std::memory_order_acquire);
    if (const auto inside = record_of(rank, left + 1)) {
      text += core::format("rank {} in {} (operation {})", name_of(rank), core::describe(inside->record), left + 1);
    } else if (const auto last = record_of(rank, left)) {
      text += core::format("rank {} outside, after {} (operation {})", name_of(rank),
                           detail::to_string(last->record.operation), left);
    } else {
      text += core::format("rank {} has not joined any operation", name_of(rank));
    }
  }
  if (auto crossed = crossing()) {
    crossed->usual = name_of(crossed->usual);
    crossed->odd = name_of(crossed->odd);
    text += "; " + core::describe(*crossed);
  }
  return text;
}

}  // namespace cobre::comm::shm
