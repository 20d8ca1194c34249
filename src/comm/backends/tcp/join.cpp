// The rendezvous as every rank but 0 sees it: keep knocking until rank 0 opens, prove to belong there, say who we are,
// and wait for the rest.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/credential.hpp"
#include "comm/backends/tcp/owner.hpp"
#include "comm/backends/tcp/pauses.hpp"
#include "comm/backends/tcp/rendezvous.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr auto patience_with_one_address = 1s;  // of several: one may lead nowhere
constexpr auto patience_with_handshake = 3s;    // rank 0 answers at once, or is somebody else
constexpr auto patience_with_coordinator = 3s;  // beyond the deadline: it knows better than we do who is missing

class Joiner final : public Rendezvous {
 public:
  explicit Joiner(const TcpConfig& config)
      : config_(config),
        where_{"connect", config.rank, config.size},
        key_(job_key(config)),
        deadline_(Clock::now() + config.connect_timeout) {}

  Gathering gather() override {
    Gathering gathering;
    gathering.deadline = deadline_;
    core::crash_point<"tcp.join.begun">();
    knock();
    core::crash_point<"tcp.join.connected">();
    const Address near = Address::local_of(socket_.get());
    Address door = bind_address_of(config_, near.family(), deadline_).value_or(near);
    gathering.doors.push_back(open_door(door));
    gathering.source = door;
    Member member = present(config_);
    // Behind a door at any address, the one by which rank 0 was reached is known to lead here.
    Address known = door.is_any() ? near : door;
    known.set_port(Address::local_of(gathering.doors.back().get()).port());
    member.door = known.to_wire();
    send(member);
    core::crash_point<"tcp.join.introduced">();
    await_reply();  // accepted, or not
    core::crash_point<"tcp.join.accepted">();
    deadline_ = std::max(deadline_, Clock::now() + std::chrono::milliseconds(reply_.rank));
    gathering.deadline = deadline_;
    while (reply_.kind == ReplyKind::Accepted) await_reply();
    if (reply_.kind != ReplyKind::Table) throw_nonsense();

    gathering.job = masked(reply_.job, session_.key);
    gathering.link_key = link_key_of(key_, gathering.job);
    gathering.members.resize(config_.size);
    const auto table = std::as_writable_bytes(std::span(gathering.members));
    Mac seal{};
    const auto until = deadline_ + patience_with_coordinator;
    if (!receive_all(socket_.get(), table, until) ||
        !receive_all(socket_.get(), std::as_writable_bytes(std::span(&seal, 1)), until)) {
      throw_rank_zero_lost();
    }
    const bool whole = same(seal, seal_of(session_.key, {Direction::FromRankZero, received_++}, table));
    if (!whole || !is_table(gathering.members)) throw_nonsense();
    for (Member& one : gathering.members) one.door = Address::as_seen_from(near, one.door);
    core::crash_point<"tcp.join.told">();
    return gathering;
  }

  void check() override {
    pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (poll(&entry, 1, 0) > 0) await_reply();  // nothing good comes before we have reported
  }

  void confirm(const Outcome& outcome) override {
    send(outcome);
    core::crash_point<"tcp.join.reported">();
    await_reply();
    core::crash_point<"tcp.join.started">();
    if (reply_.kind != ReplyKind::Go) throw_nonsense();
  }

 private:
  // Connects and proves, however late rank 0 is and whoever else listens there meanwhile.
  void knock() {
    for (Pauses pauses(config_.rank);;) {
      for (const Address& address : coordinator_addresses(config_, deadline_)) {
        if (Clock::now() >= deadline_) throw_no_coordinator();
        if (knock_at(address)) return;
      }
      std::this_thread::sleep_until(std::min(Clock::now() + pauses.next(), deadline_));
    }
  }

  bool knock_at(const Address& address) {
    const auto now = Clock::now();
    const auto source = bind_address_of(config_, address.family(), deadline_);
    Opened opened = open_connection(address, source, std::min(deadline_, now + patience_with_one_address));
    if (!opened.socket) {
      note(core::format("{} at {}", std::strerror(opened.error), address.text()));
      return false;
    }
    hurry(opened.socket.get());
    watch_over(opened.socket.get(), config_.host_timeout);
    const auto until = std::min(deadline_, Clock::now() + patience_with_handshake);
    const std::optional<Key> key = config_.munge ? vouched_key(opened.socket.get(), until) : key_;
    if (!key) {
      note(core::format("MUNGE does not vouch for whoever listens at {}", address.text()));
      return false;
    }
    const Introduction met = introduce(opened.socket.get(), *key, Purpose::Join, config_.rank, 0, until);
    switch (met.refusal) {
      case Refusal::None:
        // It answered, so it has taken the connection, and the kernel knows whose it is.
        if (is_for_one_user(config_) && owner_of_other_end(opened.socket.get()) != geteuid()) {
          note_cause(core::format("another user than {} listens at {}: set COBRE_TCP_SECRET_FILE, or take another port",
                                  geteuid(), address.text()));
          return false;
        }
        socket_ = std::move(opened.socket);
        session_ = met.session;
        return true;
      case Refusal::Silent: note(core::format("whoever listens at {} does not answer", address.text())); break;
      case Refusal::Stranger: note_cause(stranger_at(address)); break;
      case Refusal::NotAdmitted: note(core::format("{} closed the connection", address.text())); break;
    }
    return false;
  }

  [[nodiscard]] std::string stranger_at(const Address& address) const {
    if (config_.munge || (config_.secret.empty() && !config_.step.empty())) {
      return core::format(
          "a rank of another step of Slurm listens at {}: give each job its own COBRE_TCP_PORT, or wait for that one "
          "to end",
          address.text());
    }
    return core::format(
        "whoever listens at {} does not know the job's secret{}: do all ranks have the same COBRE_TCP_SECRET_FILE?",
        address.text(), config_.step.empty() ? "" : ", or is a rank of another step of Slurm");
  }

  // Why the last attempt failed, which is what keeps this rank out; unless an earlier one showed whom it meets there:
  // that one may have gone, or not have answered in time, at the last attempt.
  void note(std::string problem) {
    if (!has_cause_) problem_ = std::move(problem);
  }
  void note_cause(std::string problem) {
    problem_ = std::move(problem);
    has_cause_ = true;
  }

  // Half of the key goes there in a credential, half comes back in another.
  static std::optional<Key> vouched_key(int socket, Clock::time_point until) {
    const Bytes32 ours = random_bytes();
    Credential credential = write_credential(ours);
    const auto bytes = std::as_writable_bytes(std::span(&credential, 1));
    if (!send_all(socket, bytes, until) || !receive_all(socket, bytes, until)) return std::nullopt;
    const auto theirs = read_credential(credential);
    if (!theirs) return std::nullopt;
    return key_between(ours, *theirs, step_of_slurm());
  }

  [[noreturn]] void throw_no_coordinator() const {
    throw InitializationFailed(
        "tcp",
        core::format("rank {} of {} waited {} ms for rank 0 at {}, which never came ({}); start it on the machine "
                     "that COBRE_TCP_COORDINATOR names",
                     config_.rank, config_.size, config_.connect_timeout.count(), core::quoted(config_.coordinator),
                     problem_));
  }

  template <class Body>
  void send(const Body& body) {
    const auto frame = sealed(session_.key, {Direction::ToRankZero, sent_++}, body);
    // Where this fails rank 0 is gone, or said why before it went.
    if (!send_all(socket_.get(), raw(frame), deadline_ + patience_with_coordinator)) await_reply();
  }

  void await_reply() {
    Sealed<Reply> frame;
    const auto bytes = std::as_writable_bytes(std::span(&frame, 1));
    if (!receive_all(socket_.get(), bytes, deadline_ + patience_with_coordinator)) throw_rank_zero_lost();
    if (!seal_holds(session_.key, {Direction::FromRankZero, received_++}, frame)) throw_nonsense();
    reply_ = frame.body;
    if (!is_sensible(reply_, config_.size)) throw_nonsense();
    switch (reply_.kind) {
      case ReplyKind::Accepted:
      case ReplyKind::Table:
      case ReplyKind::Go: return;
      case ReplyKind::Refused:
      case ReplyKind::Failed: throw InitializationFailed("tcp", reply_.text.words());
      case ReplyKind::Died:
        throw PeerFailed(where_,
                         {.rank = reply_.rank, .host = reply_.text.words(), .pid = {}, .signal = {}, .exit_code = {}});
    }
  }

  [[noreturn]] void throw_rank_zero_lost() const {
    if (Clock::now() >= deadline_ + patience_with_coordinator) {
      throw InitializationFailed(
          "tcp",
          core::format("rank {} of {} has heard nothing from rank 0 for too long, though it lives: is it stopped?",
                       config_.rank, config_.size));
    }
    throw PeerFailed(where_, {.rank = 0, .host = {}, .pid = {}, .signal = {}, .exit_code = {}});
  }
  [[noreturn]] static void throw_nonsense() {
    throw InitializationFailed("tcp",
                               "rank 0 sent something else than expected; do all ranks run the same version of this "
                               "library?");
  }

  const TcpConfig& config_;
  Where where_;
  Key key_;
  Clock::time_point deadline_;
  core::Descriptor socket_;
  Session session_;
  std::uint32_t sent_ = 0;
  std::uint32_t received_ = 0;
  Reply reply_;
  std::string problem_ = "nothing listens there";
  bool has_cause_ = false;
};

}  // namespace

std::unique_ptr<Rendezvous> join(const TcpConfig& config) {
  return std::make_unique<Joiner>(config);
}

}  // namespace cobre::comm::tcp
