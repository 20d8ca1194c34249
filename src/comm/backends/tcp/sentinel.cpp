#include "comm/backends/tcp/sentinel.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include "comm/backends/tcp/neighbours.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr auto heartbeat = 50ms;                // how often the clock is looked at
constexpr auto first_check = 50ms;              // into an operation; then at doubled times
constexpr auto last_words = 500ms;              // to get out what the others must know
constexpr auto patience_with_root = 1s;         // to answer that time is up
constexpr std::size_t places_at_the_door = 96;  // ranks come in again, strangers take no more of this process

void ring(const core::Descriptor& bell) noexcept {
  const std::uint64_t one = 1;
  (void)!write(bell.get(), &one, sizeof one);
}

// By rank the first one on the same host.
std::vector<std::size_t> hosts_of(const std::vector<Member>& members) {
  std::vector<std::size_t> hosts;
  for (const Member& member : members) {
    const auto first = std::ranges::find_if(members, [&](const Member& one) { return one.host == member.host; });
    hosts.push_back(static_cast<std::size_t>(first - members.begin()));
  }
  return hosts;
}

core::Descriptor open_bell() {
  core::Descriptor bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) throw InitializationFailed("tcp", "no event descriptor could be opened; raise the limit of open files");
  return bell;
}

}  // namespace

Sentinel::Sentinel(Settings settings, std::vector<core::Descriptor> doors, Ledger& ledger)
    : settings_(std::move(settings)),
      ledger_(ledger),
      journal_(ledger.journal()),
      bell_(open_bell()),
      knock_(open_bell()),
      arrived_(settings_.size),
      arrived_mail_(settings_.size),
      missed_(settings_.size),
      reception_(settings_.link_key, std::move(doors), places_at_the_door),
      left_(settings_.size),
      parent_rank_(parent_of(settings_.rank)),
      arbiter_(settings_.size, settings_.rank, hosts_of(settings_.members)) {
  for (const std::size_t peer : neighbours(settings_.rank, settings_.size, settings_.step)) neighbours_.set(peer);
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::string problem;
  try {
    thread_ = std::make_unique<std::thread>([this] { run(); });
  } catch (const std::system_error& error) {
    problem = error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (thread_ == nullptr) {
    throw InitializationFailed("tcp", "the thread that watches over this rank could not be started: " + problem);
  }
}

Sentinel::~Sentinel() {
  if (thread_ == nullptr) return;
  ask({.kind = Request::Kind::Stop});
  thread_->join();
}

void Sentinel::forget_thread() noexcept {
  [[maybe_unused]] const auto* const left_alone = thread_.release();  // nobody is there to be joined
}

// ---- the calling thread -------------------------------------------------------------------------------------------

void Sentinel::ask(Request request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  ring(knock_);
}

void Sentinel::adopt_link(std::size_t peer, core::Descriptor socket) {
  ask({.kind = Request::Kind::Neighbour, .peer = peer, .socket = std::move(socket)});
}

core::Descriptor Sentinel::await_arrival(std::vector<core::Descriptor>& arrived, std::size_t peer,
                                         Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return arrived[peer] || verdict_ || stopped_; });
  return std::move(arrived[peer]);
}

core::Descriptor Sentinel::await_link(std::size_t peer, Clock::time_point deadline) {
  return await_arrival(arrived_, peer, deadline);
}

core::Descriptor Sentinel::await_mail_link(std::size_t peer, Clock::time_point deadline) {
  return await_arrival(arrived_mail_, peer, deadline);
}

core::Descriptor Sentinel::take_mail_link(std::size_t peer) {
  const std::lock_guard lock(mutex_);
  return std::move(arrived_mail_[peer]);
}

bool Sentinel::departed(std::size_t rank) const {
  const std::lock_guard lock(mutex_);
  return departed_.test(rank);
}

std::optional<std::size_t> Sentinel::await_neighbours(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  const auto missing = [&]() -> std::optional<std::size_t> {
    for (std::size_t rank = settings_.rank + 1; rank < settings_.size; ++rank) {
      if (neighbours_.test(rank) && !connected_.test(rank)) return rank;
    }
    return std::nullopt;
  };
  changed_.wait_until(lock, deadline, [&] { return !missing() || verdict_; });
  return missing();
}

bool Sentinel::await_verdict(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, longest, [&] { return verdict_.has_value(); });
}

Verdict Sentinel::verdict() const {
  const std::lock_guard lock(mutex_);
  return verdict_.value_or(Verdict{});
}

void Sentinel::report(const Verdict& verdict) {
  ask({.kind = Request::Kind::Report, .verdict = verdict});
  if (await_verdict(2s)) return;
  adopt(verdict);  // The root does not answer either: what this rank knows has to do.
}

void Sentinel::report_disagreement(std::uint64_t sequence) {
  ask({.kind = Request::Kind::Inquiry,
       .inquiry = {.question = Question::WhoDisagrees,
                   .rank = static_cast<std::uint32_t>(settings_.rank),
                   .sequence = sequence}});
  if (await_verdict(3s)) return;
  Verdict verdict;
  verdict.kind = VerdictKind::Mismatch;
  verdict.subject = verdict.other = static_cast<std::uint32_t>(settings_.rank);
  verdict.ranks.set(settings_.rank);
  report(verdict);
}

void Sentinel::on_verdict(std::function<void(const Verdict&)> call) {
  const std::lock_guard lock(mutex_);
  on_verdict_ = std::move(call);
  if (verdict_) on_verdict_(*verdict_);
}

Verdict Sentinel::failure_of(std::size_t rank) const {
  {
    const std::lock_guard lock(mutex_);
    if (missed_[rank] != 0) rank = missed_[rank] - 1;
  }
  Verdict verdict;
  verdict.kind = VerdictKind::PeerFailed;
  verdict.subject = static_cast<std::uint32_t>(rank);
  verdict.pid = settings_.members[rank].pid;
  verdict.host = settings_.members[rank].host_name;
  return verdict;
}

void Sentinel::say_goodbye() noexcept {
  ask({.kind = Request::Kind::Goodbye});
}

void Sentinel::spread_abort(int code) noexcept {
  ask({.kind = Request::Kind::Abort, .code = code});
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, 2 * last_words, [&] { return stopped_; });
}

// ---- the thread ---------------------------------------------------------------------------------------------------

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
  const auto expects = [this](std::size_t rank) { return can_answer(rank); };
  const auto silent = parent() != nullptr ? parent_rank_ : std::nullopt;
  for (int round = 0; round < 2; ++round) {
    const auto ruling = arbiter_.rule(Clock::now(), expects, silent);
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

void Sentinel::adopt(const Verdict& verdict) {
  const std::lock_guard lock(mutex_);
  if (!verdict_) verdict_ = verdict;
  if (verdict_->kind == VerdictKind::PeerFailed || verdict_->kind == VerdictKind::ReductionThrew) {
    ledger_.blame(verdict_->subject);
    if (settings_.on_failure) settings_.on_failure(verdict_->subject);
  }
  // Pairs with the acquire in finished(): who sees it may take the lock and finds the verdict.
  finished_.store(true, std::memory_order_release);
  ring(bell_);
  changed_.notify_all();
  if (on_verdict_) on_verdict_(*verdict_);
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
