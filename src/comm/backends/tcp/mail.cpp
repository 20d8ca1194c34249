#include "comm/backends/tcp/mail.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "comm/backends/tcp/verdict.hpp"
#include "comm/core/format.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

}  // namespace

MailPipes::MailPipes(std::vector<core::Descriptor> connected, Wire& wire, Sentinel& sentinel,
                     algorithms::MailNote& note, const core::ForkGuard& guard, const algorithms::MailSettings& settings)
    : rank_(wire.rank()),
      wire_(wire),
      sentinel_(sentinel),
      note_(note),
      guard_(guard),
      settings_(settings),
      lines_(wire.size()) {
  for (std::size_t peer = 0; peer < connected.size(); ++peer) {
    if (!connected[peer]) continue;
    prepare(lines_[peer]);
    connect(lines_[peer], std::move(connected[peer]));
  }
}

// The kernel throws away what it could not deliver yet when a connection is closed on which something lies unread, or
// comes later. Whoever is still sending here may wait for the same as this rank: what it sends is taken and forgotten.
MailPipes::~MailPipes() {
  if (lines_.empty() || guard_.in_child()) return;
  const auto deadline = settings_.timeout > 0ms ? Clock::now() + settings_.timeout : Clock::time_point::max();
  const auto is_settled = [](const Line& line) {
    if (line.incoming()) (void)recv(line.incoming().get(), nullptr, most_at_once, MSG_DONTWAIT | MSG_TRUNC);
    return !line.own || settled(line.own.get());
  };
  constexpr std::chrono::microseconds longest{10'000};
  for (std::chrono::microseconds pause{20}; !sentinel_.finished(); pause = std::min(2 * pause, longest)) {
    // Everyone's, not up to the first who is not: two who leave must not wait for each other.
    if (std::ranges::count_if(lines_, is_settled) == std::ssize(lines_) || Clock::now() >= deadline) return;
    std::this_thread::sleep_for(pause);
  }
}

void MailPipes::prepare(Line& line) {
  if (line.taken == nullptr) line.taken = std::unique_ptr<std::byte[]>(new std::byte[taken_at_once]);
}

/// A line that is prepared.
void MailPipes::connect(Line& line, core::Descriptor socket) noexcept {
  line.own = std::move(socket);
  if (line.broken_off) (void)shutdown(line.own.get(), SHUT_WR);
}

void MailPipes::enter(const Where& where) {
  if (guard_.in_child()) [[unlikely]]
    core::throw_in_child(where);
  if (sentinel_.finished()) [[unlikely]] {
    if (std::exchange(told_, true)) throw InvalidCommunicator(where, explain(sentinel_.verdict()));
    sentinel_.conclude(where);
  }
  take_new_links();
  go_on_opening();
}

void MailPipes::take_arrivals() {
  seen_arrivals_ = sentinel_.mail_arrivals();
  for (std::size_t peer = 0; peer < lines_.size(); ++peer) {
    core::Descriptor socket = sentinel_.take_mail_link(peer);
    if (!socket) continue;
    Line& line = lines_[peer];
    prepare(line);
    if (!line.own && line.opening == nullptr) {
      connect(line, std::move(socket));
    } else {
      // Both opened one: the peer has never sent on the other, so that its end says nothing.
      line.theirs = std::move(socket);
      line.ended = false;
    }
  }
}

/// Whether it is open; throws where it will not be. Only who begins is patient.
bool MailPipes::open(const Where& where, std::size_t peer, std::chrono::nanoseconds patience) {
  if (sentinel_.departed(peer)) throw_gone(where, peer);
  Line& line = lines_[peer];
  auto until = Clock::now();
  if (line.opening == nullptr) {
    prepare(line);
    line.opening = std::make_unique<Opening>(wire_.begin_mail(peer));
    ++opening_;
    until += patience;
  }
  for (advance(line); line.opens() && Clock::now() < until; advance(line)) {
    const pollfd entry = line.opening->entry();
    (void)await(entry.fd, entry.events, until);
  }
  if (line.opening == nullptr) return true;
  if (line.opens()) return false;
  const std::string problem = line.opening->problem();
  line.opening.reset();
  if (sentinel_.await_verdict(patience_with_reason)) sentinel_.conclude(where);
  throw CollectiveFailed(where, 0, wire_.cannot_reach(peer, problem));
}

void MailPipes::advance(Line& line) noexcept try {
  if (!line.opens() || line.opening->advance() == Opening::State::UnderWay) return;
  --opening_;
  if (line.opening->state() == Opening::State::Failed) return;
  connect(line, line.opening->take());
  line.opening.reset();
} catch (const std::exception&) {  // no memory, or no random numbers: it goes on from there the next time
}

std::size_t MailPipes::push(std::size_t peer, std::span<const std::byte> first,
                            std::span<const std::byte> second) noexcept {
  Line& line = lines_[peer];
  if (!line.own) [[unlikely]]
    advance(line);
  if (!line.own || line.lost) return 0;
  std::array<iovec, 2> parts{{{const_cast<std::byte*>(first.data()), first.size()},
                              {const_cast<std::byte*>(second.data()), std::min(second.size(), most_at_once)}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = sendmsg(line.own.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  line.full = sent < 0 && errno == EAGAIN;
  if (sent < 0 && errno != EAGAIN && errno != EINTR) line.lost = true;
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

std::size_t MailPipes::receive(Line& line, std::byte* into, std::size_t most) noexcept {
  const ssize_t got = recv(line.incoming().get(), into, most, MSG_DONTWAIT);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) line.ended = true;
  return 0;
}

std::size_t MailPipes::pull(std::size_t peer, std::byte* into, std::size_t most) noexcept {
  Line& line = lines_[peer];
  if (line.begin == line.end) {
    if (!line.incoming() || line.ended) return 0;
    if (most >= taken_at_once) return receive(line, into, std::min(most, most_at_once));
    line.begin = 0;
    line.end = receive(line, line.taken.get(), taken_at_once);
  }
  const std::size_t count = std::min(most, line.end - line.begin);
  if (count > 0) std::memcpy(into, line.taken.get() + line.begin, count);
  line.begin += count;
  return count;
}

void MailPipes::break_off(std::size_t peer) noexcept {
  if (guard_.in_child()) return;  // whose parent still sends there
  Line& line = lines_[peer];
  line.broken_off = true;
  if (line.own) (void)shutdown(line.own.get(), SHUT_WR);
}

void MailPipes::check(const Where& where, std::size_t peer) {
  // In this order: a peer that left after it had come is not gone before what it left behind was looked at.
  const bool departed = sentinel_.departed(peer);
  take_new_links();
  const Line& line = lines_[peer];
  if (line.ended || line.lost || (departed && !line.incoming())) throw_gone(where, peer);
}

void MailPipes::throw_gone(const Where& where, std::size_t peer) const {
  // It may have gone because of something that everyone is about to hear.
  if (sentinel_.await_verdict(patience_with_reason)) sentinel_.conclude(where);
  const Verdict failure = sentinel_.failure_of(peer);
  sentinel_.miss(failure.subject);
  throw_verdict(where, failure);
}

/// Sleeps on whatever may come, room where there was none, and the sentinel.
void MailPipes::rest(std::chrono::nanoseconds longest) {
  watched_.clear();
  watched_.push_back({sentinel_.bell(), POLLIN, 0});
  for (const Line& line : lines_) {
    if (line.incoming() && !line.ended) watched_.push_back({line.incoming().get(), POLLIN, 0});
    if (line.full) watched_.push_back({line.own.get(), POLLOUT, 0});
    if (line.opens()) watched_.push_back(line.opening->entry());
  }
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest);
  (void)poll(watched_.data(), watched_.size(), static_cast<int>(milliseconds.count()));
}

}  // namespace cobre::comm::tcp
