// The sentinel's thread: what comes to it, from its rank, from the others' sentinels and through the door.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "comm/backends/tcp/sentinel.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

}  // namespace

void Sentinel::run() {
  close_door_behind_the_last();
  while (running_) turn();
  part(last_words);
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void Sentinel::turn() {
  std::vector<pollfd> entries{{knock_.get(), POLLIN, 0}};
  reception_.watch(entries);
  for (const ControlLink& link : links_) {
    entries.push_back({link.fd(), static_cast<short>(link.has_unsent() ? POLLIN | POLLOUT : POLLIN), 0});
  }
  std::chrono::milliseconds longest = heartbeat;
  const auto wake_at = [&](Clock::time_point when) {
    longest = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()), 0ms, longest);
  };
  if (const auto next = arbiter_.next(); next && !finished()) wake_at(*next);
  if (proposed_at_ && !finished()) wake_at(*proposed_at_ + patience_with_reports);
  (void)poll(entries.data(), entries.size(), static_cast<int>(longest.count()));

  for (Guest& guest : reception_.serve()) welcome(std::move(guest));
  for (ControlLink& link : links_) {
    link.flush();
    link.receive([&](NoticeKind kind, auto body, auto whole) { hear(link, kind, body, whole); });
  }
  // After what has come: the calling thread can only guess why a peer is gone, and the reason may lie there.
  take_requests();
  if (!running_) return;
  look_at_the_machines();
  bury_lost_links();
  look_for_those_who_left();
  look_at_the_clock();
  heed_silence_above();
  rule();
}

void Sentinel::take_requests() {
  std::uint64_t count = 0;
  (void)!read(knock_.get(), &count, sizeof count);
  std::vector<Request> requests;
  {
    const std::lock_guard lock(mutex_);
    requests.swap(requests_);
  }
  for (Request& request : requests) {
    switch (request.kind) {
      case Request::Kind::Report: propose(request.verdict); break;
      case Request::Kind::Inquiry: inquire(request.inquiry); break;
      case Request::Kind::Neighbour: links_.emplace_back(std::move(request.socket), request.peer); break;
      case Request::Kind::Goodbye:
        tell(Whom::Everyone, notice(NoticeKind::Farewell, Farewell{.rank = static_cast<std::uint32_t>(settings_.rank),
                                                                   .missed = blamed_.load(std::memory_order_relaxed),
                                                                   .left = journal_.left()}));
        goodbye_ = true;
        break;
      case Request::Kind::Abort:
        tell(Whom::Everyone, notice(NoticeKind::Abort,
                                    Abort{.code = request.code, .rank = static_cast<std::uint32_t>(settings_.rank)}));
        running_ = false;
        break;
      case Request::Kind::Stop: running_ = false; break;
    }
  }
}

// Whoever comes here has proved to belong to this job; what it wants must still make sense.
void Sentinel::welcome(Guest guest) {
  const Challenge& challenge = guest.session.challenge;
  const std::size_t peer = challenge.from;
  // The higher rank comes to the lower one; for messages beyond the usual patterns the sender comes to the receiver.
  const bool expected = peer > settings_.rank || (challenge.purpose == Purpose::Mail && peer != settings_.rank);
  if (challenge.to != settings_.rank || !expected || peer >= settings_.size) return;
  if (challenge.purpose == Purpose::Control) watch_over(guest.socket.get(), settings_.host_timeout);
  std::size_t sent = 0;
  const std::lock_guard lock(mutex_);
  if (challenge.purpose == Purpose::Control && neighbours_.test(peer) && !connected_.test(peer)) {
    if (send_some(guest.socket.get(), raw(guest.admission), sent) != Moved::All) return;
    connected_.set(peer);
    links_.emplace_back(std::move(guest.socket), peer);
  } else if (challenge.purpose == Purpose::Data && !linked_.test(peer)) {
    if (send_some(guest.socket.get(), raw(guest.admission), sent) != Moved::All) return;
    arrived_[peer] = std::move(guest.socket);
    linked_.set(peer);
  } else if (challenge.purpose == Purpose::Mail && !mail_linked_.test(peer)) {
    if (send_some(guest.socket.get(), raw(guest.admission), sent) != Moved::All) return;
    arrived_mail_[peer] = std::move(guest.socket);
    mail_linked_.set(peer);
    mail_arrivals_.fetch_add(1, std::memory_order_release);  // pairs with mail_arrivals()
  }
  close_door_behind_the_last();
  changed_.notify_all();
}

// Everyone to whom this rank does not go itself may come here with a link for messages; ranks above this one come with
// one for operations too, and neighbours with a third. After that nobody has business here any more.
void Sentinel::close_door_behind_the_last() {
  for (std::size_t rank = 0; rank < settings_.size; ++rank) {
    if (rank == settings_.rank) continue;
    const bool above = rank > settings_.rank;
    const bool neighbour = above && neighbours_.test(rank);
    const bool mail = mail_linked_.test(rank) || settings_.visited.test(rank);
    const bool done = mail && (!above || linked_.test(rank)) && (!neighbour || connected_.test(rank));
    if (!done) return;
  }
  reception_.close();
}

void Sentinel::hear(ControlLink& link, NoticeKind kind, std::span<const std::byte> body,
                    std::span<const std::byte> whole) {
  if (link.peer() == parent_rank_) forget_silence();
  // Who asks shall know at once that somebody is here, however long the answer takes.
  if (kind == NoticeKind::Report || kind == NoticeKind::Inquiry) link.send(notice(NoticeKind::Alive, Alive{}));
  switch (kind) {
    case NoticeKind::Verdict: {
      const auto verdict = read_body<Verdict>(body);
      if (!is_sensible(verdict, settings_.size) || finished()) return;
      tell(Whom::Everyone, whole, &link);
      return adopt(verdict);
    }
    case NoticeKind::Report: {
      const auto verdict = read_body<Verdict>(body);
      if (is_sensible(verdict, settings_.size)) propose(verdict);
      return;
    }
    case NoticeKind::Inquiry: {
      const auto inquiry = read_body<Inquiry>(body);
      if (is_sensible(inquiry, settings_.size)) inquire(inquiry);
      return;
    }
    case NoticeKind::RollCall: {
      if (link.peer() != parent_rank_) return;
      tell(Whom::Children, whole);
      return link.send(notice(NoticeKind::Testimony, testify(read_body<RollCall>(body).number)));
    }
    case NoticeKind::Testimony: {
      const auto testimony = read_body<Testimony>(body);
      if (Arbiter::caller(testimony.call) == settings_.rank) {
        if (is_sensible(testimony, settings_.size)) arbiter_.hear(testimony);
      } else if (ControlLink* const up = parent()) {
        up->send(whole);
      }
      return;
    }
    case NoticeKind::Warning: {
      const auto warning = read_body<Warning>(body);
      if (warning.rank == settings_.rank) return core::warn(warning.line.words());
      return tell(Whom::Children, whole, &link);
    }
    case NoticeKind::Farewell: {
      const auto farewell = read_body<Farewell>(body);
      if (farewell.rank >= settings_.size || farewell.missed > settings_.size || left_[farewell.rank]) return;
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
      return;
    }
    case NoticeKind::Abort: {
      // Its own comes back on other ways, and must not end it before it ends itself, with its code.
      if (read_body<Abort>(body).rank == settings_.rank) return;
      tell(Whom::Everyone, whole, &link);
      end_process();
    }
    case NoticeKind::Alive: return;
  }
}

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

// What was said last is what the others must know: no connection is closed before the other machine has it. Whoever
// is there closes its end as soon as it has read that, and else its kernel acknowledges it within a moment.
void Sentinel::part(std::chrono::milliseconds longest) {
  const auto deadline = Clock::now() + longest;
  constexpr std::chrono::nanoseconds longest_pause = 5ms;
  std::vector<pollfd> entries;
  for (std::chrono::nanoseconds pause = 50us;; pause = std::min(2 * pause, longest_pause)) {
    entries.clear();
    for (ControlLink& link : links_) {
      if (link.parted()) continue;
      entries.push_back({link.fd(), static_cast<short>(link.has_unsent() ? POLLIN | POLLOUT : POLLIN), 0});
    }
    if (entries.empty() || Clock::now() >= deadline) return;
    const timespec moment{.tv_sec = 0, .tv_nsec = pause.count()};
    (void)ppoll(entries.data(), entries.size(), &moment, nullptr);
  }
}

void Sentinel::end_process() {
  part(last_words);
  // A process may want to tidy up; one that does not end by itself is ended.
  (void)kill(getpid(), SIGTERM);
  std::this_thread::sleep_for(200ms);
  (void)kill(getpid(), SIGKILL);
  std::abort();
}

}  // namespace cobre::comm::tcp
