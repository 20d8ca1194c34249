// What a sentinel notices by itself: machines that are silent, connections that ended, ranks that left, and operations
// that take long; and what it makes of it where nobody stands above it.

#include <algorithm>
#include <chrono>

#include "comm/backends/tcp/sentinel.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr auto first_check = 50ms;       // into an operation; then at doubled times
constexpr auto patience_with_root = 1s;  // to answer that time is up

}  // namespace

// Whether a machine is still there its kernel alone can say, by acknowledging what it gets; it does so for a process
// that is stopped, too. So each neighbour gets something now and then, at a quarter of the time after which a machine
// counts as lost. What is left of that time for the answer leaves room for looking only now and then.
void Sentinel::look_at_the_machines() {
  const auto now = Clock::now();
  if (now - looked_ < heartbeat / 2) return;
  const bool afresh = now - looked_ > 4 * heartbeat;
  looked_ = now;
  const Clock::duration whole = settings_.host_timeout;
  const auto between_signs = std::max<Clock::duration>(whole / 4, heartbeat);
  const auto longest = std::max(whole - between_signs - 4 * heartbeat, whole / 4);
  // Before anything is sent: what was sent before this process was stopped has been acknowledged, or never will be.
  for (ControlLink& link : links_) link.look_at_machine(now, afresh, longest);
  if (now < next_sign_) return;
  next_sign_ = now + between_signs;
  for (ControlLink& link : links_) {
    if (!link.has_unsent()) link.send(notice(NoticeKind::Alive, Alive{}));
  }
}

// A connection that ends without a goodbye is the end of its rank. The parent's comes last: whoever is told of a
// failure ends too, and where the network lost its last words, a child that died before is what they were about.
// Children cannot have died of their grandparent: they would have heard of it from here.
void Sentinel::bury_lost_links() {
  for (const bool parents_turn : {false, true}) {
    for (auto link = links_.begin(); link != links_.end();) {
      const std::size_t peer = link->peer();
      const bool was_parent = peer == parent_rank_;
      if (!link->lost() || was_parent != parents_turn) {
        ++link;
        continue;
      }
      const bool failed = !left_[peer];
      const bool known_before = proposed_ && (!failed || dead_.test(proposed_->subject));
      link = links_.erase(link);
      if (failed) dead_.set(peer);
      if (goodbye_ || finished()) continue;
      if (was_parent && known_before) {
        pronounce(*proposed_);
      } else if (failed && was_parent) {
        pronounce(failure_of(peer));
      } else if (failed) {
        propose(failure_of(peer));
      }
      gave_up_.reset();
    }
  }
}

// A rank that left cleanly is a failure only for an operation that it did not join.
void Sentinel::look_for_those_who_left() {
  const std::uint64_t entered = journal_.entered();
  if (finished() || proposed_ || journal_.left() >= entered) return;
  for (std::size_t rank = 0; rank < settings_.size; ++rank) {
    if (left_[rank].value_or(entered) < entered) return propose(failure_of(rank));
  }
}

void Sentinel::look_at_the_clock() {
  const std::uint64_t entered = journal_.entered();
  if (finished() || journal_.left() >= entered) return;
  const auto now = Clock::now();
  const auto waited = now - journal_.began();
  if (watched_ != entered) {
    watched_ = entered;
    next_check_ = first_check;
    next_warning_ = settings_.warn_after;
    gave_up_.reset();
  }
  Inquiry inquiry;
  inquiry.rank = static_cast<std::uint32_t>(settings_.rank);
  inquiry.sequence = entered;
  inquiry.waited_microseconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(waited).count());
  const auto put = [&](Question question) {
    inquiry.question = question;
    inquire(inquiry);
  };
  if (waited >= next_check_) {
    next_check_ *= 2;
    put(Question::IsAllWell);
  }
  if (waited >= next_warning_) {
    next_warning_ *= 2;
    put(Question::WhoIsMissing);
  }
  if (settings_.timeout > 0ms && waited >= settings_.timeout) {
    // Again where nothing comes of it: who had to pass it on may have been stopped over it.
    if (!gave_up_ || now >= *gave_up_ + patience_with_root) {
      gave_up_ = now;
      put(Question::TimeIsUp);
    }
  }
}

void Sentinel::rule() {
  if (finished() || superior() != nullptr) return;
  const Arbiter::Tree tree{.expects = [this](std::size_t rank) { return can_answer(rank); },
                           .parent_of = [this](std::size_t rank) { return parent_of(rank); },
                           .silent = parent() != nullptr ? parent_rank_ : std::nullopt};
  for (int round = 0; round < 2; ++round) {
    const auto ruling = arbiter_.rule(Clock::now(), tree);
    if (ruling.call) {
      tell(Whom::Children, notice(NoticeKind::RollCall, *ruling.call));
      arbiter_.hear(testify(ruling.call->number));
    }
    for (const Warning& warning : ruling.warnings) {
      if (warning.rank == settings_.rank) {
        core::warn(warning.line.words());
      } else {
        tell(Whom::Children, notice(NoticeKind::Warning, warning));
      }
    }
    if (ruling.verdict) return pronounce(*ruling.verdict);
  }
}

}  // namespace cobre::comm::tcp
