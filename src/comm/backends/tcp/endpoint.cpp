#include "comm/backends/tcp/endpoint.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "comm/algorithms/collectives.hpp"
#include "comm/algorithms/self_mail.hpp"
#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/mail.hpp"
#include "comm/backends/tcp/neighbours.hpp"
#include "comm/backends/tcp/perform.hpp"
#include "comm/backends/tcp/transport.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/core/measured.hpp"
#include "comm/core/waiting_cpus.hpp"
#include "comm/topology/host.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds between_looks = 10ms;  // at rank 0, while others connect

}  // namespace

Endpoint::Endpoint(const TcpConfig& config)
    : config_(config),
      rank_(config.rank),
      size_(config.size),
      job_ranks_(size_),
      kin_(std::make_shared<core::Kin>()),
      ledger_(config.ledger),
      first_left_(ledger_.left()),
      surroundings_(std::make_shared<Surroundings>(ledger_.share_journal())) {
  (void)algorithms::PartTable::of_this_process();  // before this process starts others, which have no part in it
  std::iota(job_ranks_.begin(), job_ranks_.end(), std::size_t{0});
  if (size_ > 1) {
    try {
      meet();
    } catch (...) {
      kin_->leave(this);  // no destructor will, and the memory of this host goes after the watch
      throw;
    }
  } else {
    members_ = {present(config)};
    hosts_ = find_hosts(members_, 0);
    open_mailroom(ledger_.mail());
  }
  forget(std::as_writable_bytes(std::span(config_.secret.value)));
  config_.secret = {};
  topology_ = {BackendKind::Tcp, size_, hosts_.list, std::nullopt, topology::slurm_job(), hosts_.placements};
  if (rank_ == 0) topology::warn_of_spanning(topology_);
}

void Endpoint::meet() {
  const auto rendezvous = open_rendezvous(config_);
  Gathering gathering = rendezvous->gather();
  keep_facts(gathering);
  policy_ = core::wait_policy(hosts_.neighbours().size(), hosts_.cpus);
  if (!on_one_host()) {
    rendezvous->confirm(connect(std::move(gathering), [&] { rendezvous->check(); }));
  }
  complete([&] { rendezvous->check(); });
  if (policy_.shares_cores()) core::move_to_share(hosts_.place, hosts_.neighbours().size());
}

bool Endpoint::on_one_host() const noexcept {
#ifdef COBRE_COMM_HAS_SHM
  return hosts_.list.size() == 1 && hosts_.all_share;
#else
  return false;
#endif
}

void Endpoint::keep_facts(const Gathering& gathering) {
  members_ = gathering.members;
  link_key_ = gathering.link_key;
  source_ = gathering.source;
  doors_.clear();
  for (const auto& door : gathering.doors) doors_.push_back(Address::local_of(door.get()));
  hosts_ = find_hosts(members_, rank_);
}

Outcome Endpoint::connect(Gathering gathering, const std::function<void()>& check) {
  ledger_.open();
  Sentinel::Settings settings{
      .rank = rank_,
      .size = size_,
      .link_key = gathering.link_key,
      .timeout = config_.timeout,
      .warn_after = config_.warn_after,
      .host_timeout = config_.host_timeout,
      .members = gathering.members,
      .visited = {},
      .on_failure = [kin = kin_, ranks = job_ranks_](std::size_t rank) { kin->blame(ranks[rank]); },
      .own = surroundings_,
      .base = base_,
      .on_crossing = [this](const Verdict& verdict) { tell_of_crossing(verdict); }};
  for (const std::size_t peer : usual_peers(rank_, hosts_)) {
    if (peer < rank_) settings.visited.set(peer);
  }
  sentinel_ = std::make_unique<Sentinel>(std::move(settings), std::move(gathering.doors), ledger_);
  kin_->join(this, job_ranks_, [this](std::size_t rank) { sentinel_->blame(rank); });
  wire_ = std::make_unique<Wire>(rank_, gathering, *sentinel_, policy_, config_.host_timeout);
  return connect_links(gathering.deadline, check);
}

void Endpoint::complete([[maybe_unused]] const std::function<void()>& check) {
#ifdef COBRE_COMM_HAS_SHM
  const bool shares = hosts_.all_share && (hosts_.one_speaks || hosts_.neighbours().size() > 1);
  if (!shares) shared_ = nullptr;
  const auto conclude = [&] {
    if (sentinel_->finished()) sentinel_->conclude({"connect", rank_, size_});
  };
  if (shares && shared_ == nullptr) share_memory(sentinel_ != nullptr ? conclude : check);
  if (sentinel_ == nullptr) {
    if (made_ == algorithms::MadeBy::Nobody) first_left_ = shared_->first_left();
    return;
  }
  if (shares) {
    shared_->belong_to(hosts_.neighbours(), size_, config_.timeout, config_.warn_after, first_left_,
                       std::shared_ptr<core::Aside>(surroundings_, &surroundings_->fences));
    sentinel_->on_verdict([shared = std::weak_ptr(shared_)](const Verdict& verdict) {
      const auto endpoint = shared.lock();
      if (endpoint != nullptr) endpoint->interrupt([verdict](const Where& where) { throw_verdict(where, verdict); });
    });
  }
#endif
  algorithms::NotedPart note;
  if (made_ != algorithms::MadeBy::Nobody) {
    note = {algorithms::PartTable::of_this_process(), made_, rank_, size_, first_left_};
  }
  open_mailroom(note ? note.mail() : ledger_.mail());
  perform({.operation = detail::Operation::Barrier}, [&] {
    if (!hierarchical()) {
      tuning_.costs = algorithms::calibrate(*wire_, policy_.shares_cores());
    } else if (hosts_.place == 0) {
      Leaders leaders(*wire_, hosts_);
      tuning_.costs = algorithms::calibrate(leaders, false);
    } else {
      return;
    }
    core::measured(tuning_.costs);
  });
  ledger_.note_start(sequence_);
  noted_ = std::move(note);
}

#ifdef COBRE_COMM_HAS_SHM
// The group has a name that nobody outside the job can know, and another one on each host.
void Endpoint::share_memory(const std::function<void()>& check) {
  const Mac name = authenticate(link_key_, {label("cobre-comm tcp: memory of host"), raw(members_[rank_].host)});
  ShmConfig shared;
  for (const std::uint8_t byte : name) shared.name += core::format("{:02x}", byte);
  shared.rank = hosts_.place;
  shared.size = hosts_.neighbours().size();
  shared.connect_timeout = config_.connect_timeout;
  // Where there is a sentinel, it warns and gives up, in the terms of the whole job.
  const bool watched = sentinel_ != nullptr;
  if (!watched) shared.witness = config_.witness;
  shared.timeout = watched ? 0ms : config_.timeout;
  shared.warn_after = watched ? std::chrono::hours(24 * 365) : config_.warn_after;
  try {
    shared_ = std::make_shared<shm::Endpoint>(shared, shm::gather_group(shared, check));
    std::vector<std::size_t> names;
    for (const std::size_t neighbour : hosts_.neighbours()) names.push_back(job_ranks_[neighbour]);
    shared_->tell_of_failures(kin_, std::move(names));
  } catch (const PeerFailed& error) {
    if (!watched) throw;
    // A neighbour by its number on this host; everyone shall hear which rank of the job that is.
    if (!sentinel_->await_verdict(patience_with_reason))
      sentinel_->report(sentinel_->failure_of(hosts_.neighbours()[error.rank()]));
    sentinel_->conclude({"connect", rank_, size_});
  }
}
#endif

// The sentinels first: from then on a failure anywhere is heard everywhere.
Outcome Endpoint::connect_links(Clock::time_point deadline, const std::function<void()>& check) {
  Outcome outcome;
  // Everything may have been called off; or the watch has heard of a failure that will be the reason for that.
  const auto is_pointless = [&] {
    check();
    return sentinel_->finished();
  };
  const auto fail = [&](Reached reached, const std::string& words) {
    if (outcome.reached != Reached::All) return;
    outcome.reached = reached;
    outcome.text.say(words);
    if (!sentinel_->finished()) return;
    // Who decides hears of it by itself: that counts, and not what this rank could not do because of it.
    (void)await(-1, 0, std::min(deadline, Clock::now() + config_.host_timeout), [&] {
      check();
      return false;
    });
    outcome.text.say(explain(sentinel_->verdict()));
  };
  // Waits in small steps.
  const auto patiently = [&](auto&& attempt) {
    while (!attempt(std::min(deadline, Clock::now() + between_looks))) {
      if (is_pointless() || Clock::now() >= deadline) return false;
    }
    return true;
  };
  for (const std::size_t peer : neighbours(rank_, size_)) {
    if (peer > rank_ || outcome.reached != Reached::All) continue;
    Wire::Control made = wire_->open_control(peer, deadline, is_pointless);
    if (made.socket) {
      sentinel_->adopt_link(peer, std::move(made.socket));
      core::crash_point<"tcp.neighbour_reached">();
    } else {
      fail(Reached::Unreachable, made.problem);
    }
  }
  const auto peers = usual_peers(rank_, hosts_);
  for (const std::size_t peer : peers) {
    if (peer > rank_ || outcome.reached != Reached::All) continue;
    if (const auto problem = wire_->open(peer, deadline, is_pointless)) fail(Reached::Unreachable, *problem);
  }
  mail_links_.resize(size_);
  for (const std::size_t peer : peers) {
    if (peer > rank_ || outcome.reached != Reached::All) continue;
    Wire::Control mail = wire_->open_mail(peer, deadline, is_pointless);
    if (!mail.socket) fail(Reached::Unreachable, mail.problem);
    mail_links_[peer] = std::move(mail.socket);
  }
  core::crash_point<"tcp.peers_reached">();
  const auto wait_for = [&](const std::size_t& peer, auto&& attempt) {  // an attempt may be what finds out the peer
    if (outcome.reached != Reached::All || patiently(attempt)) return;
    fail(Reached::SomeDidNotCome, core::format("rank {} at {} waited in vain for rank {} at {} to connect; does a "
                                               "firewall stand between the two?",
                                               rank_, wire_->door_of(rank_), peer, wire_->door_of(peer)));
  };
  std::size_t neighbour = 0;
  wait_for(neighbour, [&](Clock::time_point until) {
    const auto missing = sentinel_->await_neighbours(until);
    neighbour = missing.value_or(0);
    return !missing.has_value();
  });
  for (const std::size_t peer : peers) {
    if (peer < rank_) continue;
    wait_for(peer, [&](Clock::time_point until) { return wire_->take(peer, until); });
    wait_for(peer, [&](Clock::time_point until) {
      mail_links_[peer] = sentinel_->await_mail_link(peer, until);
      return static_cast<bool>(mail_links_[peer]);
    });
  }
  return outcome;
}

void Endpoint::tell_of_crossing(const Verdict& verdict) {
  if (const auto whole = runs_requests_ ? whole_.lock() : nullptr) whole->sentinel_->report(verdict);
  for (const auto& one : duplicates_) {
    if (const auto duplicate = one.lock()) duplicate->sentinel_->report(verdict);
  }
}

Endpoint::~Endpoint() {
  if (sentinel_ == nullptr) return;
  if (guard_.in_child()) {
    sentinel_->forget_thread();
    return;
  }
  if (!finished_) {
    core::crash_point<"tcp.depart.begun">();
    mail_ = nullptr;  // waits until what it sent is where it belongs; while this rank can still be told why it is not
    // The kernel takes what was sent to a peer that has not come to read it yet, and throws it away at its leisure once
    // this process is gone.
    if (wire_ != nullptr)
      wire_->drain(config_.timeout > 0ms ? Clock::now() + config_.timeout : Clock::time_point::max());
    core::crash_point<"tcp.depart.drained">();
    ledger_.note_end();
    sentinel_->say_goodbye();
    core::crash_point<"tcp.depart.done">();
  }
  kin_->leave(this);
}

// After the links: alone, or over the network. Where all ranks share memory, their messages go through it too.
void Endpoint::open_mailroom(algorithms::MailNote& note) {
  if (size_ == 1) {
    mail_ = std::make_unique<algorithms::SelfMail>(rank_, size_, algorithms::NoPipes());
  } else if (sentinel_ != nullptr) {
    mail_ = std::make_unique<Mailroom>(rank_, size_,
                                       MailPipes(std::move(mail_links_), *wire_, *sentinel_, note, guard_,
                                                 {policy_, config_.timeout, config_.warn_after}));
  }
}

detail::Mailbox& Endpoint::mailbox() noexcept {
#ifdef COBRE_COMM_HAS_SHM
  if (mail_ == nullptr) return shared_->mailbox();
#endif
  return *mail_;
}

bool Endpoint::leader() const noexcept {
#ifdef COBRE_COMM_HAS_SHM
  if (shared_ != nullptr) return hosts_.place == 0;
#endif
  return true;
}

// The first reason counts; where there is none yet, what this rank knows.
void Endpoint::finish(const Verdict& otherwise) noexcept {
  if (!sentinel_->finished()) sentinel_->report(otherwise);
  if (!finished_) finished_ = explain(sentinel_->verdict());
#ifdef COBRE_COMM_HAS_SHM
  if (shared_ != nullptr) {
    shared_->interrupt([verdict = sentinel_->verdict()](const Where& where) { throw_verdict(where, verdict); });
  }
#endif
}

void Endpoint::agree(const detail::OperationRecord& record) {
  execute(record, detail::BarrierCall{});
}

std::optional<std::size_t> Endpoint::first_failure(const detail::OperationRecord& record, bool worked) {
  const std::uint64_t mine = worked ? size_ : rank_;
  std::uint64_t lowest = size_;
  detail::OperationRecord step = record;
  step.reduction = static_cast<std::uint8_t>(ReduceOp::Min);
  execute(step, detail::AllreduceCall{&mine, &lowest, 1, sizeof mine, element_type_v<std::uint64_t>, ReduceOp::Min,
                                      nullptr, Reproducible::Default, nullptr});
  if (lowest == size_) return std::nullopt;
  return lowest;
}

void Endpoint::abort(int code) noexcept {
  if (!guard_.in_child()) {
    // Everyone means those too whom a part leaves out, as long as there is a way to tell them.
    if (const auto whole = whole_.lock()) whole->abort(code);
    if (sentinel_ != nullptr) sentinel_->spread_abort(code);
#ifdef COBRE_COMM_HAS_SHM
    if (shared_ != nullptr) shared_->abort(code);
#endif
  }
  // Not exit(): destructors of static objects must not run in the middle of whatever the caller was doing.
  std::_Exit(code);
}

}  // namespace cobre::comm::tcp
