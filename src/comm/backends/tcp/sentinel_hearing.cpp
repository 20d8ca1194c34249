// What the others' sentinels tell this one, and what it does about it.

#include <cstddef>
#include <mutex>
#include <span>
#include <variant>

#include "comm/backends/tcp/sentinel.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::tcp {

void Sentinel::hear(ControlLink& link, NoticeKind kind, std::span<const std::byte> body,
                    std::span<const std::byte> whole) {
  if (link.peer() == parent_rank_) forget_silence();
  // Who asks shall know at once that somebody is here, however long the answer takes.
  if (kind == NoticeKind::Report || kind == NoticeKind::Inquiry) link.send(notice(NoticeKind::Alive, Alive{}));
  const auto heard = understand(kind, body, settings_.size);
  if (heard) std::visit([&](const auto& said) { heed(link, said, whole); }, *heard);
}

void Sentinel::heed(ControlLink& link, const Verdict& verdict, std::span<const std::byte> whole) {
  if (finished()) return;
  tell(Whom::Everyone, whole, &link);
  adopt(verdict);
}

void Sentinel::heed(ControlLink&, const Report& report, std::span<const std::byte>) {
  propose(report.verdict);
}

void Sentinel::heed(ControlLink&, const Inquiry& inquiry, std::span<const std::byte>) {
  inquire(inquiry);
}

void Sentinel::heed(ControlLink& link, const RollCall& call, std::span<const std::byte> whole) {
  if (link.peer() != parent_rank_) return;
  tell(Whom::Children, whole);
  link.send(notice(NoticeKind::Testimony, testify(call.number)));
}

void Sentinel::heed(ControlLink&, const Testimony& testimony, std::span<const std::byte> whole) {
  if (Arbiter::caller(testimony.call) == settings_.rank) {
    arbiter_.hear(testimony);
  } else if (ControlLink* const up = parent()) {
    up->send(whole);
  }
}

void Sentinel::heed(ControlLink& link, const Warning& warning, std::span<const std::byte> whole) {
  if (warning.rank == settings_.rank) return core::warn(warning.line.words());
  tell(Whom::Children, whole, &link);
}

void Sentinel::heed(ControlLink& link, const Farewell& farewell, std::span<const std::byte> whole) {
  if (left_[farewell.rank]) return;
  left_[farewell.rank] = farewell.left;
  {
    const std::lock_guard lock(mutex_);
    departed_.set(farewell.rank);
    missed_[farewell.rank] = farewell.missed;
  }
  tell(Whom::Everyone, whole, &link);
  // Those below the one who left go on with another parent, and what they told it is to be told again.
  if (const auto now_above = parent_of(settings_.rank); now_above != parent_rank_) {
    parent_rank_ = now_above;
    forget_silence();
    if (proposed_) propose(Verdict(*proposed_));
  }
}

void Sentinel::heed(ControlLink& link, const Abort& abort, std::span<const std::byte> whole) {
  // Its own comes back on other ways, and must not end it before it ends itself, with its code.
  if (abort.rank == settings_.rank) return;
  tell(Whom::Everyone, whole, &link);
  end_process();
}

void Sentinel::heed(ControlLink&, const Alive&, std::span<const std::byte>) {}

Testimony Sentinel::testify(std::uint64_t call) const {
  Testimony testimony;
  testimony.call = call;
  testimony.rank = static_cast<std::uint32_t>(settings_.rank);
  // In this order: what was left had been entered.
  testimony.left = journal_.left();
  testimony.entered = journal_.entered();
  for (std::uint64_t back = 0; back < Journal::depth && back < testimony.entered; ++back) {
    const std::uint64_t sequence = testimony.entered - back;
    if (const auto record = journal_.record(sequence)) testimony.history[sequence % Journal::depth] = *record;
  }
  if (settings_.own != nullptr) {
    testimony.requests = settings_.own->standing(settings_.own->requests);
    testimony.fences = settings_.own->standing(settings_.own->fences);
  }
  if (settings_.base != nullptr) testimony.base = settings_.base->standing(settings_.base->requests);
  return testimony;
}

}  // namespace cobre::comm::tcp
