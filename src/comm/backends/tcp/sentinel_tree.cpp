// Who stands above and below a rank in the control tree, what goes there, and what becomes of it where nobody answers.

#include <chrono>
#include <optional>
#include <utility>

#include "comm/backends/tcp/neighbours.hpp"
#include "comm/backends/tcp/sentinel.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr auto patience_with_parent = 1s;  // to answer anything: sentinels do at once, unless they are stopped

}  // namespace

// Below this rank, with nobody gone between.
bool Sentinel::can_answer(std::size_t rank) const {
  for (std::optional<std::size_t> up = rank; up; up = parent_of(*up)) {
    if (*up == settings_.rank) return true;
    if (left_[*up] || dead_.test(*up)) return false;
  }
  return false;
}

std::optional<std::size_t> Sentinel::parent_of(std::size_t rank) const {
  return tcp::parent_of(rank, settings_.size, [this](std::size_t one) { return left_[one].has_value(); });
}

void Sentinel::forget_silence() noexcept {
  proposed_at_.reset();
  unheard_since_.reset();
  unheard_.clear();
  arbiter_.dismiss();
}

ControlLink* Sentinel::parent() noexcept {
  for (ControlLink& link : links_) {
    if (link.peer() == parent_rank_) return &link;
  }
  return nullptr;
}

ControlLink* Sentinel::superior() noexcept {
  const bool silent = unheard_since_ && Clock::now() >= *unheard_since_ + patience_with_parent;
  return silent ? nullptr : parent();
}

void Sentinel::propose(const Verdict& verdict) {
  if (finished()) return;
  if (ControlLink* const up = superior()) {
    if (!proposed_) proposed_ = verdict;
    if (!proposed_at_) proposed_at_ = Clock::now();
    up->send(notice(NoticeKind::Report, verdict));
  } else {
    pronounce(verdict);
  }
}

void Sentinel::inquire(const Inquiry& inquiry) {
  if (finished()) return;
  if (ControlLink* const up = superior()) {
    if (!unheard_since_) unheard_since_ = Clock::now();
    unheard_.push_back(inquiry);
    up->send(notice(NoticeKind::Inquiry, inquiry));
  } else {
    arbiter_.ask(inquiry, Clock::now());
  }
}

void Sentinel::pronounce(const Verdict& verdict) {
  if (finished()) return;
  tell(Whom::Everyone, notice(NoticeKind::Verdict, verdict));
  adopt(verdict);
}

void Sentinel::tell(Whom whom, std::span<const std::byte> bytes, const ControlLink* but) {
  for (ControlLink& link : links_) {
    const bool meant = whom == Whom::Everyone || parent_of(link.peer()) == settings_.rank;
    if (meant && &link != but) link.send(bytes);
  }
}

// A sentinel answers at once, whatever its rank does. One that does not is stopped with its whole process, and whoever
// is next to it is the root of what is below: those further down get their answers, and leave it to that one.
void Sentinel::heed_silence_above() {
  if (finished() || parent() == nullptr) return;
  if (proposed_ && proposed_at_ && Clock::now() >= *proposed_at_ + patience_with_reports) return pronounce(*proposed_);
  if (superior() != nullptr) return;
  for (const Inquiry& inquiry : std::exchange(unheard_, {})) arbiter_.ask(inquiry, Clock::now());
}

}  // namespace cobre::comm::tcp
