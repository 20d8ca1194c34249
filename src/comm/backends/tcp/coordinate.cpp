// The rendezvous as rank 0 sees it: take in who can prove to belong here, turn away who does not fit, and when all are
// there tell everyone where everyone is. One poll loop over everyone, so that a slow or silent visitor delays nobody.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <thread>

#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/credential.hpp"
#include "comm/backends/tcp/reception.hpp"
#include "comm/backends/tcp/rendezvous.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::tcp {
namespace {

Trust trust_of(const TcpConfig& config) {
  if (config.munge) return Trust::Munge;
  return is_for_one_user(config) ? Trust::SameUser : Trust::Secret;
}

std::string step_of(const TcpConfig& config) {
  return config.munge ? step_of_slurm() : std::string();
}

using namespace std::chrono_literals;

constexpr auto patience_with_candidate = 2s;    // from being trusted to having said who it is
constexpr auto patience_with_predecessor = 1s;  // an earlier job on this port may be on its way out
constexpr auto patience_with_reports = 1s;      // beyond the deadline, at which every rank reports what it lacks
constexpr auto patience_with_latecomers = 1s;   // who shall hear why there will be no job
constexpr std::size_t spare_places = 64;        // for strangers, beside one for each rank

// Knows the key, and is about to say which rank it is.
struct Candidate {
  core::Descriptor socket;
  Session session;
  Clock::time_point deadline;
  Sealed<Member> frame{};
  std::size_t got = 0;
};

struct Arrived {
  core::Descriptor socket;
  Session session;
  Member member;
  std::uint32_t frames = 0;  // sent to it
  Sealed<Outcome> outcome{};
  std::size_t got = 0;
};

class Coordinator final : public Rendezvous {
 public:
  explicit Coordinator(const TcpConfig& config)
      : config_(config),
        where_{"connect", 0, config.size},
        key_(job_key(config)),
        deadline_(Clock::now() + config.connect_timeout),
        reception_(key_, open_doors(), config.size + spare_places, trust_of(config), step_of(config)),
        arrived_(config.size) {
    own_ = present(config);
  }

  Gathering gather() override {
    core::crash_point<"tcp.coordinate.door_open">();
    while (present_ < config_.size && !(doom_ && Clock::now() >= doomed_at_)) admit();
    if (doom_) throw_doom(*doom_);
    core::crash_point<"tcp.coordinate.all_here">();
    // Whoever comes from here on comes to another job, or for no good.
    reception_.close();
    candidates_.clear();
    return hand_out();
  }

  void check() override {
    for (std::size_t rank = 1; rank < config_.size; ++rank) listen_for_outcome(rank);
  }

  void confirm(const Outcome& outcome) override {
    outcome_ = outcome;
    const auto until = deadline_ + patience_with_reports;
    while (Clock::now() < until) {
      std::vector<pollfd> entries;
      for (std::size_t rank = 1; rank < config_.size; ++rank) {
        listen_for_outcome(rank);
        if (!reported(rank)) entries.push_back({arrived_[rank]->socket.get(), POLLIN, 0});
      }
      if (entries.empty()) break;
      (void)poll(entries.data(), entries.size(), 20);
    }
    give_up_on_unreached();
    core::crash_point<"tcp.coordinate.all_reached">();
    Reply go;
    go.kind = ReplyKind::Go;
    tell_all(go);
    core::crash_point<"tcp.coordinate.started">();
  }

 private:
  std::vector<core::Descriptor> open_doors() {
    std::vector<core::Descriptor> doors;
    addresses_ = coordinator_addresses(config_, deadline_);
    const auto give_up = std::min(deadline_, Clock::now() + patience_with_predecessor);
    std::string problem;
    std::vector<Address> wanted = addresses_;
    if (!config_.bind_address.empty()) {
      const Address& first = addresses_.front();
      wanted = {bind_address_of(config_, first.family(), deadline_).value_or(first)};
      wanted.front().set_port(first.port());
    }
    for (;;) {
      int worst = 0;
      for (const Address& address : wanted) {
        Opened opened =
            open_listener(address, static_cast<int>(std::min<std::size_t>(config_.size + spare_places, 4096)));
        if (opened.socket) {
          doors.push_back(std::move(opened.socket));
        } else if (worst != EADDRINUSE) {
          worst = opened.error;
          problem = core::format("{}: {}", address.text(), std::strerror(opened.error));
        }
      }
      if (worst == EADDRINUSE) {
        if (Clock::now() < give_up) {
          doors.clear();
          std::this_thread::sleep_for(5ms);
          continue;
        }
        throw InitializationFailed("tcp", core::format("rank 0 cannot listen at {}; another program, or another job, "
                                                       "uses this port: give COBRE_TCP_PORT another one on every rank",
                                                       problem));
      }
      if (!doors.empty()) return doors;
      throw InitializationFailed(
          "tcp", core::format("rank 0 cannot listen at {}; COBRE_TCP_COORDINATOR must name the machine on which rank 0 "
                              "runs",
                              problem));
    }
  }

  // One turn of the loop.
  void admit() {
    if (Clock::now() >= deadline_ && !doom_) give_up_on_missing();
    std::vector<pollfd> entries;
    reception_.watch(entries);
    for (const Candidate& candidate : candidates_) entries.push_back({candidate.socket.get(), POLLIN, 0});
    for (const auto& arrived : arrived_) {
      if (arrived && !doom_) entries.push_back({arrived->socket.get(), POLLIN, 0});
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    (void)poll(entries.data(), entries.size(), static_cast<int>(std::clamp<long>(left, 0, 50)));

    for (std::size_t rank = 1; rank < config_.size; ++rank) {
      if (arrived_[rank] && !doom_ && has_ended(arrived_[rank]->socket.get())) doom(news_of(rank));
    }
    for (Guest& guest : reception_.serve()) {
      if (guest.session.challenge.purpose != Purpose::Join || guest.session.challenge.to != 0) continue;
      std::size_t sent = 0;
      if (send_some(guest.socket.get(), raw(guest.admission), sent) != Moved::All) continue;
      // Whoever has come is waited for until all have: where its machine vanishes meanwhile, the kernel says so.
      watch_over(guest.socket.get(), config_.host_timeout);
      candidates_.push_back({std::move(guest.socket), guest.session, Clock::now() + patience_with_candidate});
    }
    for (auto candidate = candidates_.begin(); candidate != candidates_.end();) {
      candidate = listen_to(*candidate) ? candidates_.erase(candidate) : std::next(candidate);
    }
  }

  // An arrived rank says nothing until the table is out: whatever comes is its end.
  static bool has_ended(int socket) noexcept {
    pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
    return poll(&entry, 1, 0) > 0;
  }

  // True where the candidate has become a member or was sent away.
  bool listen_to(Candidate& candidate) {
    const auto bytes = std::as_writable_bytes(std::span(&candidate.frame, 1));
    switch (receive_some(candidate.socket.get(), bytes, candidate.got)) {
      case Moved::Closed: return true;
      case Moved::Some:
      case Moved::Nothing: return Clock::now() >= candidate.deadline;
      case Moved::All: break;
    }
    if (!seal_holds(candidate.session.key, {Direction::ToRankZero, 0}, candidate.frame)) return true;
    const Member& member = candidate.frame.body;
    Arrived arrived{std::move(candidate.socket), candidate.session, member};
    if (const auto problem = problem_with(member, config_.size)) {
      tell(arrived, ReplyKind::Refused, *problem);
      // A rank of this job with another idea of its size: the rest need not wait for what cannot come, but those who
      // are about to arrive shall hear of it too.
      if (member.size != config_.size && !doom_) doom(failure(*problem));
      return true;
    }
    auto& place = arrived_[member.rank];
    if (place) {
      tell(arrived, ReplyKind::Refused,
           core::format("rank {} is taken by process {} on {}; give each process its own COBRE_TCP_RANK, and each job "
                        "its own COBRE_TCP_PORT",
                        member.rank, place->member.pid, place->member.host_name.words()));
      return true;
    }
    // Who came first waits as long as rank 0 does, which then tells who is missing.
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
    Reply accepted;
    accepted.rank = static_cast<std::uint32_t>(std::clamp<std::int64_t>(left.count(), 0, 1L << 30));
    if (!tell(arrived, doom_ ? *doom_ : accepted)) return true;
    place = std::make_unique<Arrived>(std::move(arrived));
    ++present_;
    core::crash_point<"tcp.coordinate.admitted">();
    return true;
  }

  Gathering hand_out() {
    Gathering gathering;
    gathering.deadline = deadline_;
    gathering.job = random_bytes();
    gathering.link_key = link_key_of(key_, gathering.job);
    // A door at each address by which somebody came, so that everybody reaches rank 0 the way that it knows.
    std::vector<Address> doors;
    gathering.members.resize(config_.size);
    for (std::size_t rank = 1; rank < config_.size; ++rank) {
      Address near = Address::local_of(arrived_[rank]->socket.get());
      gathering.members[rank] = arrived_[rank]->member;
      gathering.members[rank].door = Address::as_seen_from(near, arrived_[rank]->member.door);
      near.set_port(0);
      if (std::ranges::none_of(doors, [&](const Address& door) { return same_host(door, near); })) {
        gathering.doors.push_back(open_door(near));
        doors.push_back(Address::local_of(gathering.doors.back().get()));
      }
    }
    for (std::size_t rank = 1; rank < config_.size; ++rank) {
      Arrived& arrived = *arrived_[rank];
      const Address near = Address::local_of(arrived.socket.get());
      const auto door = std::ranges::find_if(doors, [&](const Address& one) { return same_host(one, near); });
      gathering.members[0] = own_;
      gathering.members[0].door = door->to_wire();
      Reply reply;
      reply.kind = ReplyKind::Table;
      reply.job = masked(gathering.job, arrived.session.key);
      const auto table = std::as_bytes(std::span(gathering.members));
      if (!tell(arrived, reply)) mourn(rank);
      const Mac seal = seal_of(arrived.session.key, {Direction::FromRankZero, arrived.frames++}, table);
      const auto until = deadline_ + patience_with_reports;
      if (!send_all(arrived.socket.get(), table, until) || !send_all(arrived.socket.get(), raw(seal), until))
        mourn(rank);
      core::crash_point<"tcp.coordinate.told">();
    }
    if (config_.size == 1) gathering.members[0] = own_;
    return gathering;
  }

  [[nodiscard]] bool reported(std::size_t rank) const { return arrived_[rank]->got == sizeof(arrived_[rank]->outcome); }

  void listen_for_outcome(std::size_t rank) {
    Arrived& arrived = *arrived_[rank];
    if (reported(rank)) {
      // The job begins only when all have reported: one that goes before never will.
      if (has_ended(arrived.socket.get())) mourn(rank);
      return;
    }
    const auto bytes = std::as_writable_bytes(std::span(&arrived.outcome, 1));
    if (receive_some(arrived.socket.get(), bytes, arrived.got) == Moved::Closed) mourn(rank);
    if (!reported(rank)) return;
    if (!seal_holds(arrived.session.key, {Direction::ToRankZero, 1}, arrived.outcome)) mourn(rank);
    if (arrived.outcome.body.reached == Reached::Unreachable) give_up(arrived.outcome.body.text.words());
  }

  // What a rank could not reach says more than what another one waits for.
  void give_up_on_unreached() {
    if (outcome_.reached != Reached::All) give_up(outcome_.text.words());
    std::vector<std::size_t> silent;
    for (std::size_t rank = 1; rank < config_.size; ++rank) {
      if (!reported(rank)) {
        silent.push_back(rank);
      } else if (arrived_[rank]->outcome.body.reached != Reached::All) {
        give_up(arrived_[rank]->outcome.body.text.words());
      }
    }
    if (!silent.empty()) {
      give_up(core::format("{} did not say within {} ms whether it reaches the others; see what it is doing",
                           core::rank_list(silent), config_.connect_timeout.count()));
    }
  }

  bool tell(Arrived& arrived, const Reply& reply) {
    const auto frame = sealed(arrived.session.key, {Direction::FromRankZero, arrived.frames++}, reply);
    return send_all(arrived.socket.get(), raw(frame), Clock::now() + patience_with_candidate);
  }
  bool tell(Arrived& arrived, ReplyKind kind, std::string_view words) {
    Reply reply;
    reply.kind = kind;
    reply.text.say(words);
    return tell(arrived, reply);
  }
  void tell_all(const Reply& reply) {
    for (auto& arrived : arrived_) {
      if (arrived) (void)tell(*arrived, reply);
    }
  }

  static Reply failure(std::string_view words) {
    Reply reply;
    reply.kind = ReplyKind::Failed;
    reply.text.say(words);
    return reply;
  }
  [[noreturn]] void give_up(const std::string& words) {
    tell_all(failure(words));
    throw InitializationFailed("tcp", words);
  }

  // There will be no job. Who is here hears so at once, and who is about to arrive shall hear it too, instead of
  // looking for a rank 0 that has gone because of it.
  void doom(const Reply& reply) {
    doom_ = reply;
    doomed_at_ = std::min(deadline_, Clock::now() + patience_with_latecomers);
    tell_all(reply);
  }
  [[noreturn]] void throw_doom(const Reply& reply) const {
    if (reply.kind == ReplyKind::Failed) throw InitializationFailed("tcp", std::string(reply.text.words()));
    throw_death_of(reply.rank);
  }

  // Not where that is what was asked for.
  [[nodiscard]] bool listens_to_itself() const {
    const std::string host = coordinator_of(config_).host;
    if (host == "localhost" || host == "::1" || host.starts_with("127.")) return false;
    return config_.bind_address.empty() &&
           std::ranges::all_of(addresses_, [](const Address& one) { return one.is_loopback(); });
  }

  [[noreturn]] void give_up_on_missing() {
    std::vector<std::size_t> missing;
    for (std::size_t rank = 1; rank < arrived_.size(); ++rank) {
      if (!arrived_[rank]) missing.push_back(rank);
    }
    const auto words_with = [&](const std::string& those) {
      return core::format("of {} ranks, {} did not come to {} within {} ms{}", config_.size, those,
                          core::quoted(config_.coordinator), config_.connect_timeout.count(), why_some_are_missing());
    };
    std::string words = words_with(core::rank_list(missing, core::all_of_them));
    // A frame holds less: whoever gets it cut off shall still be told what to do.
    const bool fits = words.size() < Reply{}.text.characters.size();
    tell_all(failure(fits ? words : words_with(core::rank_list(missing, 8))));
    throw InitializationFailed("tcp", words);
  }

  [[nodiscard]] std::string why_some_are_missing() const {
    if (const auto& other = reception_.other_user()) {
      return core::format(
          "; a process of user {} was turned away, because this one is user {}'s: without a secret a job is for one "
          "user, and COBRE_TCP_SECRET_FILE lets all in who have it",
          *other, geteuid());
    }
    if (!reception_.munge_problem().empty()) {
      return core::format("; MUNGE did not vouch for rank 0 when some came ({}): see what munged does there",
                          reception_.munge_problem());
    }
    if (reception_.strangers() > 0 && config_.munge) {
      const auto& last = reception_.last_stranger();
      return core::format(
          "; {} connections did not prove that they belong to this step of the same user, the last one from {}: does a "
          "rank of an earlier job still run there, or another munged?",
          reception_.strangers(), last ? last->text() : "nowhere");
    }
    if (reception_.strangers() > 0) {
      const auto& last = reception_.last_stranger();
      return core::format(
          "; {} connections did not prove that they know the job's secret{}, the last one from {}: do "
          "all ranks have the same COBRE_TCP_SECRET_FILE?",
          reception_.strangers(), config_.step.empty() ? "" : " and belong to this step of Slurm",
          last ? last->text() : "nowhere");
    }
    if (!config_.secret.empty() && listens_to_itself()) {
      // Debian's /etc/hosts gives a machine's own name such an address.
      return core::format(
          "; on this machine {} is a loopback address, where no other machine can reach rank 0: name "
          "one that they can, or bind rank 0 to it with COBRE_TCP_BIND_ADDR",
          core::quoted(config_.coordinator));
    }
    return "; start all of them with the same COBRE_TCP_COORDINATOR, and let no firewall stand between";
  }

  Reply news_of(std::size_t rank) const {
    Reply reply;
    reply.kind = ReplyKind::Died;
    reply.rank = static_cast<std::uint32_t>(rank);
    reply.text.say(arrived_[rank]->member.host_name.words());
    return reply;
  }
  [[noreturn]] void throw_death_of(std::size_t rank) const {
    const Member& member = arrived_[rank]->member;
    throw PeerFailed(
        where_, {.rank = rank, .host = member.host_name.words(), .pid = member.pid, .signal = {}, .exit_code = {}});
  }
  [[noreturn]] void mourn(std::size_t rank) {
    tell_all(news_of(rank));
    throw_death_of(rank);
  }

  const TcpConfig& config_;
  Where where_;
  Key key_;
  Clock::time_point deadline_;
  std::vector<Address> addresses_;  // of the coordinator, which is this rank
  Reception reception_;
  std::list<Candidate> candidates_;
  std::vector<std::unique_ptr<Arrived>> arrived_;  // by rank; nobody at 0, which is this one
  Member own_;
  Outcome outcome_;
  std::size_t present_ = 1;
  std::optional<Reply> doom_;  // why this job will not be
  Clock::time_point doomed_at_;
};

}  // namespace

std::unique_ptr<Rendezvous> coordinate(const TcpConfig& config) {
  return std::make_unique<Coordinator>(config);
}

}  // namespace cobre::comm::tcp
