#include "comm/backends/tcp/endpoint.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "comm/algorithms/collectives.hpp"
#include "comm/algorithms/self_mail.hpp"
#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/mail.hpp"
#include "comm/backends/tcp/perform.hpp"
#include "comm/backends/tcp/transport.hpp"
#include "comm/core/format.hpp"
#include "comm/topology/host.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds between_looks = 10ms;  // at rank 0, while others connect

// Whom a rank talks to in the patterns of logarithmic depth and in rings: all that a job needs until a message is so
// large that everyone talks to everyone.
std::set<std::size_t> usual_peers(std::size_t rank, std::size_t size, std::size_t step) {
  std::set<std::size_t> peers;
  if (rank % step != 0) return peers;
  const std::size_t own = rank / step;
  const std::size_t count = (size + step - 1) / step;
  for (std::size_t distance = 1; distance < count; distance *= 2) {
    peers.insert((own + distance) % count * step);
    peers.insert((own + count - distance) % count * step);
    if ((own ^ distance) < count) peers.insert((own ^ distance) * step);
  }
  peers.erase(rank);
  return peers;
}

}  // namespace

Endpoint::Endpoint(const TcpConfig& config) : rank_(config.rank), size_(config.size), ledger_(config.ledger) {
  if (size_ > 1) {
    meet(config);
  } else {
    hosts_ = find_hosts(std::array{present(config)}, 0);
    open_mailroom({});
  }
  topology_ = {BackendKind::Tcp, size_, hosts_.list, std::nullopt, topology::slurm_job(), hosts_.placements};
  if (rank_ == 0) topology::warn_of_spanning(topology_);
}

void Endpoint::meet(const TcpConfig& config) {
  const auto rendezvous = open_rendezvous(config);
  Gathering gathering = rendezvous->gather();
  hosts_ = find_hosts(gathering.members, rank_);
#ifdef COBRE_COMM_HAS_SHM
  if (hosts_.list.size() == 1 && hosts_.all_share) {
    // One machine: no byte needs the network, and who dies is seen by the kernel.
    return share_memory(config, gathering, config.timeout);
  }
#endif
  ledger_.open();
  Sentinel::Settings settings{.rank = rank_,
                              .size = size_,
                              .link_key = gathering.link_key,
                              .timeout = config.timeout,
                              .warn_after = config.warn_after,
                              .host_timeout = config.host_timeout,
                              .members = gathering.members};
  sentinel_ = std::make_unique<Sentinel>(std::move(settings), std::move(gathering.doors), ledger_);
  const auto policy = core::wait_policy(hosts_.neighbours().size(), hosts_.cpus);
  wire_ = std::make_unique<Wire>(rank_, gathering, *sentinel_, policy, config.host_timeout);
  connect_links(gathering.deadline, *rendezvous);
  open_mailroom({policy, config.timeout, config.warn_after});
#ifdef COBRE_COMM_HAS_SHM
  if (hosts_.all_share && (hierarchical() || hosts_.neighbours().size() > 1)) {
    share_memory(config, gathering, 0ms);
    sentinel_->on_verdict([shared = std::weak_ptr(shared_)] {
      if (const auto endpoint = shared.lock()) endpoint->interrupt();
    });
  }
#endif
  perform({.operation = detail::Operation::Barrier}, [&] {
    Stride everyone(*wire_, hosts_.step);
    if (hosts_.place % hosts_.step == 0) tuning_.costs = algorithms::calibrate(everyone);
  });
  ledger_.note_start(sequence_);
}

#ifdef COBRE_COMM_HAS_SHM
// The group has a name that nobody outside the job can know, and another one on each host.
void Endpoint::share_memory(const TcpConfig& config, const Gathering& gathering, std::chrono::milliseconds timeout) {
  const Mac name =
      authenticate(gathering.link_key, {label("cobre-comm tcp: memory of host"), raw(gathering.members[rank_].host)});
  ShmConfig shared;
  for (const std::uint8_t byte : name) shared.name += core::format("{:02x}", byte);
  shared.rank = hosts_.place;
  shared.size = hosts_.neighbours().size();
  shared.connect_timeout = config.connect_timeout;
  shared.timeout = timeout;
  if (sentinel_ == nullptr) shared.witness = config.witness;
  // Where there is a sentinel, it warns, in the terms of the whole job.
  shared.warn_after = sentinel_ == nullptr ? config.warn_after : std::chrono::hours(24 * 365);
  shared_ = std::make_shared<shm::Endpoint>(shared, shm::gather_group(shared));
}
#endif

// The tree first: from then on a failure anywhere is heard everywhere.
void Endpoint::connect_links(Clock::time_point deadline, Rendezvous& rendezvous) {
  Outcome outcome;
  const auto fail = [&](Reached reached, const std::string& words) {
    if (outcome.reached != Reached::All) return;
    outcome.reached = reached;
    outcome.text.say(words);
  };
  // Waits in small steps: rank 0 may have called everything off.
  const auto patiently = [&](auto&& attempt) {
    while (!attempt(std::min(deadline, Clock::now() + between_looks))) {
      rendezvous.check();
      if (Clock::now() >= deadline) return false;
    }
    return true;
  };
  if (rank_ != 0) {
    Wire::Control made = wire_->open_control(rank_ & (rank_ - 1), deadline);
    if (made.socket) {
      sentinel_->adopt_parent(std::move(made.socket));
    } else {
      fail(Reached::Unreachable, made.problem);
    }
  }
  const auto peers = usual_peers(rank_, size_, hosts_.step);
  for (const std::size_t peer : peers) {
    if (peer > rank_ || outcome.reached != Reached::All) continue;
    if (const auto problem = wire_->open(peer, deadline)) fail(Reached::Unreachable, *problem);
  }
  opened_mail_.resize(size_);
  for (const std::size_t peer : peers) {
    if (outcome.reached != Reached::All) break;
    Wire::Control mail = wire_->open_mail(peer, deadline);
    if (!mail.socket) fail(Reached::Unreachable, mail.problem);
    opened_mail_[peer] = std::move(mail.socket);
  }
  const auto wait_for = [&](std::size_t peer, auto&& attempt) {
    if (outcome.reached != Reached::All || patiently(attempt)) return;
    fail(Reached::SomeDidNotCome, core::format("rank {} waited in vain for rank {} to connect; does a firewall stand "
                                               "between the two?",
                                               rank_, peer));
  };
  std::size_t child = 0;
  wait_for(child, [&](Clock::time_point until) {
    const auto missing = sentinel_->await_children(until);
    child = missing.value_or(0);
    return !missing.has_value();
  });
  for (const std::size_t peer : peers) {
    if (peer > rank_) wait_for(peer, [&](Clock::time_point until) { return wire_->take(peer, until); });
  }
  rendezvous.confirm(outcome);
}

Endpoint::~Endpoint() {
  if (sentinel_ == nullptr) return;
  if (guard_.in_child()) {
    sentinel_->forget_thread();
  } else if (!finished_) {
    ledger_.note_end();
    sentinel_->say_goodbye();
  }
}

// After the links: alone, or over the network. Where all ranks share memory, their messages go through it too.
void Endpoint::open_mailroom(const algorithms::MailSettings& settings) {
  if (size_ == 1) {
    mail_ = std::make_unique<algorithms::SelfMail>(rank_, size_, algorithms::NoPipes());
  } else if (sentinel_ != nullptr) {
    mail_ = std::make_unique<Mailroom>(rank_, size_,
                                       MailPipes(std::move(opened_mail_), *wire_, *sentinel_, guard_, settings));
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
  if (shared_ != nullptr) shared_->interrupt();
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
    if (sentinel_ != nullptr) sentinel_->spread_abort(code);
#ifdef COBRE_COMM_HAS_SHM
    if (shared_ != nullptr) shared_->abort(code);
#endif
  }
  // Not exit(): destructors of static objects must not run in the middle of whatever the caller was doing.
  std::_Exit(code);
}

}  // namespace cobre::comm::tcp
