#include "comm/backends/tcp/wire.hpp"

#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "comm/backends/tcp/pauses.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/core/progress.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t early_bytes = 16384;  // of one link
// Up to here the copy out of what was taken early costs less than telling the kernel about several places, and who is
// behind gets many messages in one call. Longer ones go straight to where they belong.
constexpr std::size_t longest_among_others = 2048;
// Up to here the copy behind the header costs less than telling the kernel about two places.
constexpr std::size_t longest_in_one_piece = 1024;

// The door was open before anybody heard of it: who refuses now will refuse later. But a full queue may look the same,
// and where a process has died it takes the others a moment to hear of it.
constexpr auto patience_with_refusal = 1s;
// A kernel whose queue is full says nothing, and is asked again after 1, 2, 4, … seconds: too rarely in a crowd.
constexpr auto patience_with_silence = 2s;

// Whether a machine that has vanished looks like that to who asks its neighbours.
bool is_unknown_there(int error) {
  return error == EHOSTUNREACH || error == EHOSTDOWN || error == ENETUNREACH;
}

// How long a rank that waits goes on asking. Where ranks outnumber cores it hands its core round so often and then
// sleeps: one that goes on takes the core away from those it waits for, and one that sleeps at once is woken for every
// message. Where nobody wanted the core it takes it from nobody. If it slept there, the kernel would wake it on the
// core of whoever sent, and leave its own to nobody.
class Patience {
 public:
  explicit Patience(const core::WaitPolicy& policy) noexcept : policy_(policy) {}

  void renew() noexcept { *this = Patience(policy_); }

  /// Whether messages moved meanwhile.
  [[nodiscard]] bool hand_core_round() {
    const auto before = Clock::now();
    const bool moved = core::give_way();
    if (Clock::now() - before > longest_for_nobody) ++given_away_;
    return moved;
  }

  [[nodiscard]] bool is_over() noexcept {
    if (policy_.shares_cores() && given_away_ >= most_given_away) return true;
    // Looking at the clock costs as much as looking at the socket: not every time.
    if (++turns_ % 16 != 0) return false;
    const auto now = Clock::now();
    if (end_ == Clock::time_point::max()) end_ = now + policy_.yielding;
    return now >= end_;
  }

 private:
  static constexpr std::uint32_t most_given_away = 32;
  static constexpr auto longest_for_nobody = 1us;  // a yield that changes nothing takes a third of that

  core::WaitPolicy policy_;
  std::uint32_t turns_ = 0;
  std::uint32_t given_away_ = 0;
  Clock::time_point end_ = Clock::time_point::max();
};

// Header and payload, from `done` bytes on.
struct Parts {
  Parts(void* header, void* payload, std::size_t bytes, std::size_t done) noexcept {
    if (done < sizeof(Header)) {
      parts[0] = {static_cast<std::byte*>(header) + done, sizeof(Header) - done};
      parts[1] = {payload, std::min(bytes, most_at_once)};
      count = bytes > 0 ? 2 : 1;
    } else {
      const std::size_t offset = done - sizeof(Header);
      parts[0] = {static_cast<std::byte*>(payload) + offset, std::min(bytes - offset, most_at_once)};
      count = 1;
    }
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
  }
  std::array<iovec, 2> parts{};
  std::size_t count;
  msghdr message{};
};

}  // namespace

Fit compare(const Header& expected, const Header& received) noexcept {
  if (received.magic != expected.magic || received.from != expected.from) return Fit::Nonsense;
  if (received.sequence != expected.sequence || received.chain != expected.chain) return Fit::AnotherOperation;
  return received.bytes == expected.bytes ? Fit::Yes : Fit::AnotherLength;
}

class Wire::Outgoing {
 public:
  Outgoing(Wire& wire, std::size_t peer, const void* data, std::size_t bytes)
      : wire_(wire),
        peer_(peer),
        fd_(wire.link(peer).socket.get()),
        header_{.from = static_cast<std::uint32_t>(wire.rank_),
                .bytes = bytes,
                .sequence = wire.sequence_,
                .chain = wire.chain_},
        data_(const_cast<void*>(data)),
        bytes_(bytes) {}

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool done() const noexcept { return done_ == sizeof(Header) + bytes_; }

  /// True where anything moved.
  bool advance() {
    const ssize_t sent = done_ == 0 && bytes_ <= longest_in_one_piece ? send_in_one_piece() : send_in_parts();
    if (sent >= 0) [[likely]] {
      done_ += static_cast<std::size_t>(sent);
      return sent > 0;
    }
    if (errno != EAGAIN && errno != EINTR) wire_.lost(peer_);
    return false;
  }

 private:
  ssize_t send_in_one_piece() {
    std::array<std::byte, sizeof(Header) + longest_in_one_piece> whole;
    std::memcpy(whole.data(), &header_, sizeof(Header));
    if (bytes_ > 0) std::memcpy(whole.data() + sizeof(Header), data_, bytes_);
    return ::send(fd_, whole.data(), sizeof(Header) + bytes_, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  ssize_t send_in_parts() {
    Parts parts(&header_, data_, bytes_, done_);
    return sendmsg(fd_, &parts.message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  Wire& wire_;
  std::size_t peer_;
  int fd_;
  Header header_;
  void* data_;
  std::size_t bytes_;
  std::size_t done_ = 0;
};

class Wire::Incoming {
 public:
  Incoming(Wire& wire, std::size_t peer, void* data, std::size_t bytes)
      : wire_(wire), peer_(peer), link_(wire.link(peer)), data_(data), bytes_(bytes) {}

  [[nodiscard]] int fd() const noexcept { return link_.socket.get(); }
  [[nodiscard]] bool done() const noexcept { return done_ == sizeof(Header) + bytes_; }

  bool advance() {
    if (link_.begin != link_.end) {
      take_early();
      return true;
    }
    const bool among_others = bytes_ <= longest_among_others;
    Parts parts(&header_, data_, bytes_, done_);
    const ssize_t got = among_others ? ::recv(fd(), link_.early.get(), early_bytes, MSG_DONTWAIT)
                                     : recvmsg(fd(), &parts.message, MSG_DONTWAIT);
    if (got > 0) {
      if (among_others) {
        link_.begin = 0;
        link_.end = static_cast<std::size_t>(got);
        take_early();
      } else {
        arrived(static_cast<std::size_t>(got));
      }
      return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) wire_.lost(peer_);
    return false;
  }

 private:
  void take_early() {
    const auto take = [&](void* into, std::size_t most) {
      const std::size_t count = std::min(most, link_.end - link_.begin);
      if (count > 0) std::memcpy(into, link_.early.get() + link_.begin, count);
      link_.begin += count;
      arrived(count);
    };
    if (done_ < sizeof(Header)) take(reinterpret_cast<std::byte*>(&header_) + done_, sizeof(Header) - done_);
    if (done_ < sizeof(Header)) return;
    const std::size_t offset = done_ - sizeof(Header);
    take(static_cast<std::byte*>(data_) + offset, bytes_ - offset);
  }

  void arrived(std::size_t count) {
    const bool had_header = done_ >= sizeof(Header);
    done_ += count;
    if (!had_header && done_ >= sizeof(Header)) check();
  }

  void check() {
    const Header expected{
        .from = static_cast<std::uint32_t>(peer_), .bytes = bytes_, .sequence = wire_.sequence_, .chain = wire_.chain_};
    if (compare(expected, header_) != Fit::Yes) [[unlikely]]
      wire_.refuse(peer_, header_, bytes_);
  }

  Wire& wire_;
  std::size_t peer_;
  Link& link_;
  Header header_;
  void* data_;
  std::size_t bytes_;
  std::size_t done_ = 0;
};

Wire::Wire(std::size_t rank, const Gathering& gathering, Sentinel& sentinel, const core::WaitPolicy& policy,
           std::chrono::milliseconds host_timeout)
    : rank_(rank),
      links_(gathering.members.size()),
      source_(gathering.source),
      link_key_(gathering.link_key),
      sentinel_(sentinel),
      policy_(policy),
      host_timeout_(host_timeout) {
  for (const Member& member : gathering.members) {
    addresses_.push_back(Address::from_wire(member.door).value_or(Address()));
  }
}

void Wire::send(std::size_t peer, const void* data, std::size_t bytes) {
  core::crash_point<"tcp.sending">();
  Outgoing out(*this, peer, data, bytes);
  (void)out.advance();
  core::crash_point<"tcp.send_begun">();
  if (!out.done()) [[unlikely]]
    wait_for(&out, nullptr);
  core::crash_point<"tcp.sent">();
}

void Wire::recv(std::size_t peer, void* data, std::size_t bytes) {
  core::crash_point<"tcp.receiving">();
  Incoming in(*this, peer, data, bytes);
  wait_for(nullptr, &in);
  core::crash_point<"tcp.received">();
}

void Wire::exchange(std::size_t to, const void* out_data, std::size_t out_bytes, std::size_t from, void* in_data,
                    std::size_t in_bytes) {
  Outgoing out(*this, to, out_data, out_bytes);
  Incoming in(*this, from, in_data, in_bytes);
  core::crash_point<"tcp.exchanging">();
  (void)out.advance();
  core::crash_point<"tcp.exchange_begun">();
  wait_for(&out, &in);
  core::crash_point<"tcp.exchanged">();
}

// Spins as long as it may be worth it, then sleeps until a socket is ready or the sentinel rings.
void Wire::wait_for(Outgoing* out, Incoming* in) {
  Patience patience(policy_);
  for (;;) {
    bool moved = false;
    if (in != nullptr && !in->done()) moved = in->advance();
    if (out != nullptr && !out->done()) moved = out->advance() || moved;
    if ((in == nullptr || in->done()) && (out == nullptr || out->done())) return;
    if (moved) {
      patience.renew();
      continue;
    }
    const bool has_other_work = core::has_other_work();
    const bool messages_moved = (policy_.shares_cores() || has_other_work) && patience.hand_core_round();
    if (!patience.is_over()) continue;

    std::array<pollfd, 3> entries{{{sentinel_.bell(), POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLOUT, 0}}};
    if (in != nullptr && !in->done()) entries[1].fd = in->fd();
    if (out != nullptr && !out->done()) entries[2].fd = out->fd();
    const int longest = !has_other_work ? -1 : messages_moved || core::footing() == core::Footing::Fiber ? 0 : 1;
    (void)poll(entries.data(), entries.size(), longest);
    // What has arrived counts, whatever became of its sender since.
    if (entries[0].revents != 0 && entries[1].revents == 0 && entries[2].revents == 0) sentinel_.conclude(where_);
  }
}

void Wire::lost(std::size_t peer) {
  // It may have gone because of something that everyone is about to hear.
  if (!sentinel_.await_verdict(patience_with_reason)) sentinel_.report(sentinel_.failure_of(peer));
  sentinel_.conclude(where_);
}

void Wire::refuse(std::size_t peer, const Header& received, std::size_t expected) {
  const Header usual{
      .from = static_cast<std::uint32_t>(peer), .bytes = expected, .sequence = sequence_, .chain = chain_};
  if (compare(usual, received) == Fit::AnotherOperation) {
    sentinel_.report_disagreement(sequence_);
    sentinel_.conclude(where_);
  }
  if (compare(usual, received) == Fit::AnotherLength && detail::has_pairwise_lengths(record_.operation)) {
    Verdict verdict;
    verdict.kind = VerdictKind::LengthMismatch;
    verdict.subject = static_cast<std::uint32_t>(peer);
    verdict.other = static_cast<std::uint32_t>(rank_);
    verdict.subject_record = verdict.other_record = record_;
    verdict.subject_record.count = received.bytes / record_.element_size;
    verdict.other_record.count = expected / record_.element_size;
    sentinel_.report(verdict);
    sentinel_.conclude(where_);
  }
  throw CollectiveFailed(where_, 0,
                         core::format("rank {} sent {} bytes that are not what this operation expects; its memory, or "
                                      "the network, is corrupt",
                                      peer, received.bytes));
}

// A machine that is there takes the connection at once, even where the process behind it is stopped: the rest waits for
// the peer's sentinel, as long as that is not pointless.
Wire::Control Wire::connect_to(std::size_t peer, Purpose purpose, Clock::time_point deadline,
                               const std::function<bool()>& pointless) {
  const bool job_runs = deadline == Clock::time_point::max();
  std::string problem = "there was no time for it";
  auto begin = Clock::now();
  for (Pauses pauses(rank_); Clock::now() < deadline && !(pointless && pointless());) {
    // Where a machine has vanished the watch says so before that, and then this has become pointless. Who is not
    // reached later either is cut off from this rank alone.
    const auto vanished_by = begin + host_timeout_ + host_timeout_ / 4;
    Clock::time_point give_up = begin + patience_with_refusal;
    const auto until = std::min({deadline, vanished_by, Clock::now() + patience_with_silence});
    Opened opened = open_connection(addresses_[peer], source_, until, pointless);
    if (opened.socket) {
      core::crash_point<"tcp.link_connected">();
      hurry(opened.socket.get());
      if (purpose == Purpose::Control) watch_over(opened.socket.get(), host_timeout_);
      const Introduction met = introduce(opened.socket.get(), link_key_, purpose, rank_, peer, deadline, pointless);
      if (met.refusal == Refusal::None) return {std::move(opened.socket), {}};
      const bool stranger = met.refusal == Refusal::Stranger;
      problem = stranger ? "whoever is there does not belong to this job" : "it does not answer";
      // Who hangs up is there, and had no place for this rank in a crowd of others. That delays a job, and never ends
      // it.
      if (!stranger) {
        give_up = deadline;
        begin = Clock::now();
      }
    } else {
      problem = std::strerror(opened.error);
      // At the start a firewall that says so is the likelier reason, and nobody has waited for anything yet.
      if (opened.error == ETIMEDOUT || (job_runs && is_unknown_there(opened.error))) give_up = vanished_by;
    }
    if (Clock::now() >= give_up) break;
    (void)await(-1, 0, std::min(give_up, Clock::now() + pauses.next()), pointless);
  }
  return {{}, cannot_reach(peer, problem)};
}

std::string Wire::cannot_reach(std::size_t peer, const std::string& problem) const {
  return core::format("rank {} at {} cannot reach rank {} at {}: {}", rank_, source_ ? source_->text() : "any address",
                      peer, addresses_[peer].text(), problem);
}

Opening Wire::begin_mail(std::size_t peer) const {
  return Opening({.target = addresses_[peer],
                  .source = source_,
                  .key = link_key_,
                  .purpose = Purpose::Mail,
                  .from = rank_,
                  .to = peer,
                  .host_timeout = host_timeout_});
}

Wire::Control Wire::open_control(std::size_t peer, Clock::time_point deadline, const std::function<bool()>& pointless) {
  return connect_to(peer, Purpose::Control, deadline, pointless);
}

Wire::Control Wire::open_mail(std::size_t peer, Clock::time_point deadline, const std::function<bool()>& pointless) {
  return connect_to(peer, Purpose::Mail, deadline, pointless);
}

std::optional<std::string> Wire::open(std::size_t peer, Clock::time_point deadline,
                                      const std::function<bool()>& pointless) {
  Control made = connect_to(peer, Purpose::Data, deadline, pointless);
  if (!made.socket) return made.problem;
  join(peer, std::move(made.socket));
  return std::nullopt;
}

bool Wire::take(std::size_t peer, Clock::time_point deadline) {
  if (!links_[peer].socket) join(peer, sentinel_.await_link(peer, deadline));
  return static_cast<bool>(links_[peer].socket);
}

void Wire::join(std::size_t peer, core::Descriptor socket) {
  if (!socket) return;
  // Not zeroed: its pages are there only once something was taken early.
  links_[peer] = {std::move(socket), std::unique_ptr<std::byte[]>(new std::byte[early_bytes])};
}

void Wire::drain(Clock::time_point deadline) noexcept {
  constexpr std::chrono::microseconds longest{10'000};
  const auto is_settled = [](const Link& link) { return !link.socket || settled(link.socket.get()); };
  for (std::chrono::microseconds pause{20}; !sentinel_.finished(); pause = std::min(2 * pause, longest)) {
    // Everyone's, not up to the first who is not: two who leave must not wait for each other.
    if (std::ranges::count_if(links_, is_settled) == std::ssize(links_) || Clock::now() >= deadline) return;
    std::this_thread::sleep_for(pause);
  }
}

// A pair that no pattern of the start-up uses. Its other half comes to the same point of the same operation, or the
// sentinels find out why not.
void Wire::open_in_operation(std::size_t peer) {
  while (peer > rank_) {
    const bool has_other_work = core::has_other_work();
    if (take(peer, Clock::now() + (has_other_work ? 0s : 1s))) return;
    if (sentinel_.finished()) sentinel_.conclude(where_);
    if (has_other_work) core::give_way();
  }
  // The sentinels warn of a peer that does not answer, and give up on it, as in any other wait.
  const auto pointless = [&] {
    if (core::has_other_work()) core::give_way();
    return sentinel_.finished();
  };
  if (const auto problem = open(peer, Clock::time_point::max(), pointless)) {
    // Both may be alive, and only the way between them closed: neither has failed for the others.
    if (!sentinel_.await_verdict(patience_with_reason)) {
      Verdict verdict;
      verdict.kind = VerdictKind::Unreachable;
      verdict.subject = static_cast<std::uint32_t>(rank_);
      verdict.other = static_cast<std::uint32_t>(peer);
      verdict.problem.say(*problem);
      sentinel_.report(verdict);
    }
    sentinel_.conclude(where_);
  }
}

}  // namespace cobre::comm::tcp
