// The sentinel's thread: what comes to it, from its rank and through the door, and how it ends.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "comm/backends/tcp/sentinel.hpp"

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
