#include "comm/backends/mpi/checker.hpp"

#include <cobre/comm/errors.hpp>
#include <ferrompi/request.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <thread>

#include "comm/core/describe_operation.hpp"
#include "comm/core/disagreement.hpp"
#include "comm/core/format.hpp"
#include "comm/core/progress.hpp"
#include "comm/core/text.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::mpi {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int announced = 1;
constexpr int announced_beside_caller = 2;
constexpr int still_here = 3;

constexpr auto patience_with_announcements = 1s;  // of others, once one of those that are missing was found elsewhere

constexpr int tag_of(Purpose purpose) {
  return purpose == Purpose::Requests ? announced_beside_caller : announced;
}

// Of two communicators, which count apart.
detail::OperationRecord as_seen_elsewhere(detail::OperationRecord record, Purpose purpose) {
  record.sequence = 0;
  return purpose == Purpose::Requests ? core::beside(record) : record;
}

auto bytes_of(detail::OperationRecord& record) {
  return std::as_writable_bytes(std::span(&record, 1));
}

/// `missing` is in order: whether it begins with all ranks below `rank`.
bool is_lowest_that_waits(std::size_t rank, const std::vector<std::size_t>& missing) {
  return rank == 0 || (missing.size() >= rank && missing[rank - 1] == rank - 1);
}

}  // namespace

PairwiseLengths lengths_of(const detail::GatherCall& call, std::size_t rank, std::size_t ranks) {
  PairwiseLengths lengths(ranks);
  lengths.sent[call.root] = call.count;
  for (std::size_t peer = 0; rank == call.root && peer < ranks; ++peer) lengths.expected[peer] = call.parts.count(peer);
  return lengths;
}

PairwiseLengths lengths_of(const detail::ScatterCall& call, std::size_t rank, std::size_t ranks) {
  PairwiseLengths lengths(ranks);
  lengths.expected[call.root] = call.count;
  for (std::size_t peer = 0; rank == call.root && peer < ranks; ++peer) lengths.sent[peer] = call.parts.count(peer);
  return lengths;
}

PairwiseLengths lengths_of(const detail::AlltoallCall& call, std::size_t, std::size_t ranks) {
  PairwiseLengths lengths(ranks);
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    lengths.sent[peer] = call.from.count(peer);
    lengths.expected[peer] = call.to.count(peer);
  }
  return lengths;
}

/// How long one operation has been waiting, and when that is next worth a word.
class CollectiveChecker::Wait {
 public:
  explicit Wait(Duration warn_after) : next_warning_(begin_ + warn_after), interval_(warn_after) {}

  [[nodiscard]] Duration so_far() const { return Clock::now() - begin_; }
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(so_far()).count(); }
  /// True once for each time to warn.
  [[nodiscard]] bool is_worth_a_warning() {
    const auto now = Clock::now();
    if (now <= next_warning_) return false;
    interval_ *= 2;
    next_warning_ = now + interval_;
    return true;
  }

 private:
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_warning_;
  Duration interval_;
};

CollectiveChecker::CollectiveChecker(const ferrompi::Communicator& world, std::optional<Duration> timeout,
                                     Duration warn_after)
    : comm_(world.duplicate()),
      timeout_(timeout),
      warn_after_(warn_after),
      records_(static_cast<std::size_t>(world.size())) {}

void CollectiveChecker::relate(const std::shared_ptr<CollectiveChecker>& whole,
                               const std::shared_ptr<CollectiveChecker>& other, Purpose purpose) {
  Membership& own = whole->own_;
  if (own.family == nullptr) {
    own = {std::make_shared<Family>(whole->records_.size()), Purpose::Calls,
           std::vector<std::size_t>(whole->records_.size())};
    std::iota(own.numbers.begin(), own.numbers.end(), std::size_t{0});
    own.family->add(whole, Purpose::Calls);
  }
  other->beside_ = {own.family, purpose, std::vector<std::size_t>(other->records_.size())};
  const std::array number{static_cast<std::size_t>(whole->comm_.rank())};
  other->comm_.allgather(number, other->beside_.numbers);
  own.family->add(other, purpose);
}

const CollectiveChecker::Membership& CollectiveChecker::membership() const {
  const bool is_beside =
      beside_.purpose == Purpose::Fences || (beside_.purpose == Purpose::Requests && core::is_beside_caller());
  return is_beside ? beside_ : own_;
}

std::optional<detail::OperationRecord> CollectiveChecker::take_announcement(std::size_t rank, Purpose purpose) const {
  const auto& numbers = (purpose == Purpose::Calls ? own_ : beside_).numbers;
  const auto found = std::ranges::find(numbers, rank);
  if (found == numbers.end()) return std::nullopt;
  auto message = comm_.improbe(static_cast<int>(found - numbers.begin()), tag_of(purpose));
  if (!message) return std::nullopt;
  detail::OperationRecord record;
  message->recv(bytes_of(record));
  return as_seen_elsewhere(record, purpose);
}

void CollectiveChecker::compare(detail::OperationRecord record) {
  record.sequence = sequence_++;
  const auto rank = static_cast<std::size_t>(comm_.rank());
  if (const auto& family = membership().family)
    family->require_whole({to_string(record.operation), rank, records_.size()});
  records_[rank] = record;
  Wait wait(warn_after_);
  exchange(record, Stage::Announcing, wait);
  core::require_agreement({to_string(record.operation), rank, records_.size()}, records_);
  // A record may be that of a rank which gave up since: who comes late would agree with it, and then be alone in the
  // operation itself. So all that agree say that they are still here; the records that come are the same ones.
  exchange(record, Stage::Confirming, wait);
}

// Everybody gets everybody's, so that ranks whose own lengths fit hear of those that do not. All ranks are known to be
// in this operation by now: a collective of MPI will not hang over it.
void CollectiveChecker::compare_lengths(const detail::OperationRecord& record, const PairwiseLengths& own) {
  const std::size_t ranks = records_.size();
  std::vector<std::uint64_t> sent(ranks * ranks);
  std::vector<std::uint64_t> expected(ranks * ranks);
  comm_.allgather(own.sent, sent);
  comm_.allgather(own.expected, expected);
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      const std::size_t out = sent[from * ranks + to];
      const std::size_t in = expected[to * ranks + from];
      if (out == in) continue;
      core::throw_length_mismatch({to_string(record.operation), static_cast<std::size_t>(comm_.rank()), ranks},
                                  {.sender = from, .receiver = to, .sent = out, .expected = in});
    }
  }
}

// Who is found may have been on its way here all the same, but what it announced is taken by then: so be it.
bool CollectiveChecker::are_elsewhere(const detail::OperationRecord& record, const std::vector<std::size_t>& missing,
                                      Family::Records& found, const Wait& wait) {
  const auto& [family, purpose, numbers] = membership();
  if (family == nullptr) return false;
  found.resize(family->size());
  for (std::size_t rank = 0; rank < records_.size(); ++rank) {
    const bool is_here = !std::ranges::binary_search(missing, rank);
    if (is_here && !found[numbers[rank]]) found[numbers[rank]] = as_seen_elsewhere(records_[rank], purpose);
  }
  family->look_for(*this, found);
  const auto is_unknown = [&](std::size_t rank) { return !found[numbers[rank]]; };
  if (!missing.empty() && std::ranges::all_of(missing, is_unknown)) return false;
  if (std::ranges::none_of(missing, is_unknown) ||
      wait.so_far() > timeout_.value_or(Duration{}) + patience_with_announcements) {
    const auto rank = numbers[static_cast<std::size_t>(comm_.rank())];
    family->break_off({to_string(record.operation), rank, found.size()}, found);
  }
  return true;
}

void CollectiveChecker::exchange(const detail::OperationRecord& record, Stage stage, Wait& wait) {
  const int tag = stage == Stage::Confirming ? still_here : tag_of(membership().purpose);
  Family::Records elsewhere;  // what those are in that are missing here, once time is up
  const auto rank = static_cast<std::size_t>(comm_.rank());
  std::vector<ferrompi::Request> sends;
  std::vector<ferrompi::Request> receives;
  std::vector<std::size_t> missing;
  for (std::size_t peer = 0; peer < records_.size(); ++peer) {
    if (peer == rank) continue;
    receives.push_back(comm_.irecv(bytes_of(records_[peer]), static_cast<int>(peer), tag));
    sends.push_back(comm_.isend(bytes_of(records_[rank]), static_cast<int>(peer), tag));
    missing.push_back(peer);
  }
  while (!missing.empty() || !elsewhere.empty()) {
    for (std::size_t i = receives.size(); i-- > 0;) {
      if (!receives[i].test()) continue;
      receives.erase(receives.begin() + static_cast<std::ptrdiff_t>(i));
      missing.erase(missing.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (missing.empty() && elsewhere.empty()) break;
    if (timeout_ && wait.so_far() > *timeout_) {
      if (stage == Stage::Confirming || !are_elsewhere(record, missing, elsewhere, wait)) {
        throw TimedOut({to_string(record.operation), rank, records_.size()}, wait.seconds(), missing);
      }
    }
    if (wait.is_worth_a_warning() && is_lowest_that_waits(rank, missing)) {
      core::warn(core::format("rank {} of {} has been in {} for {:.0f} s; missing: {}", rank, records_.size(),
                              core::describe(record), wait.seconds(), core::rank_list(missing)));
    }
    if (core::has_other_work()) core::give_way();
    if (core::footing() != core::Footing::Fiber && wait.so_far() > 1ms) std::this_thread::sleep_for(50us);
  }
  for (auto& send : sends) send.wait();
}

}  // namespace cobre::comm::mpi
