// The sentinel as its rank sees it: made, asked and ended by the calling thread.

#include "comm/backends/tcp/sentinel.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include "comm/backends/tcp/neighbours.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

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
  for (const std::size_t peer : neighbours(settings_.rank, settings_.size)) neighbours_.set(peer);
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

void Sentinel::miss(std::size_t rank) noexcept {
  blame(rank);
  if (settings_.on_failure) settings_.on_failure(rank);
}

void Sentinel::say_goodbye() noexcept {
  ask({.kind = Request::Kind::Goodbye});
}

void Sentinel::spread_abort(int code) noexcept {
  ask({.kind = Request::Kind::Abort, .code = code});
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, 2 * last_words, [&] { return stopped_; });
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

}  // namespace cobre::comm::tcp
