#include "comm/backends/tcp/mail.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "comm/backends/tcp/verdict.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

constexpr auto grace = 100ms;  // for the reason to arrive, after a connection ended
// Beyond this a copy in the kernel's buffers falls out of the caches before the receiver takes it.
constexpr std::size_t most_at_once = std::size_t{1} << 20;

}  // namespace

MailPipes::MailPipes(std::vector<core::Descriptor> opened, Wire& wire, Sentinel& sentinel, const core::ForkGuard& guard,
                     const algorithms::MailSettings& settings)
    : rank_(wire.rank()),
      wire_(wire),
      sentinel_(sentinel),
      guard_(guard),
      settings_(settings),
      outgoing_(wire.size()),
      incoming_(wire.size()) {
  for (std::size_t peer = 0; peer < opened.size(); ++peer) outgoing_[peer].socket = std::move(opened[peer]);
}

void MailPipes::enter(const Where& where) {
  if (guard_.in_child()) [[unlikely]] {
    throw InvalidCommunicator(where,
                              "this process was forked from the one that is this rank; only that one may use it");
  }
  if (sentinel_.finished()) [[unlikely]] {
    if (std::exchange(told_, true)) throw InvalidCommunicator(where, explain(sentinel_.verdict()));
    sentinel_.conclude(where);
  }
  if (sentinel_.mail_arrivals() != seen_arrivals_) [[unlikely]]
    take_new_links();
}

void MailPipes::take_new_links() {
  seen_arrivals_ = sentinel_.mail_arrivals();
  for (std::size_t peer = 0; peer < incoming_.size(); ++peer) {
    Incoming& link = incoming_[peer];
    if (link.socket) continue;
    if (link.taken == nullptr) link.taken = std::unique_ptr<std::byte[]>(new std::byte[taken_at_once]);
    link.socket = sentinel_.take_mail_link(peer);
  }
}

void MailPipes::open(const Where& where, std::size_t peer) {
  Wire::Control made = wire_.open_mail(peer);
  if (!made.socket) {
    if (sentinel_.departed(peer)) throw_gone(where, peer);
    if (sentinel_.await_verdict(grace)) sentinel_.conclude(where);
    throw CollectiveFailed(where, 0, made.problem);
  }
  outgoing_[peer].socket = std::move(made.socket);
}

std::size_t MailPipes::push(std::size_t peer, std::span<const std::byte> first,
                            std::span<const std::byte> second) noexcept {
  Outgoing& link = outgoing_[peer];
  if (!link.socket || link.lost) return 0;
  std::array<iovec, 2> parts{{{const_cast<std::byte*>(first.data()), first.size()},
                              {const_cast<std::byte*>(second.data()), std::min(second.size(), most_at_once)}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = sendmsg(link.socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  link.full = sent < 0 && errno == EAGAIN;
  if (sent < 0 && errno != EAGAIN && errno != EINTR) link.lost = true;
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

std::size_t MailPipes::receive(Incoming& link, std::byte* into, std::size_t most) noexcept {
  const ssize_t got = recv(link.socket.get(), into, most, MSG_DONTWAIT);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) link.ended = true;
  return 0;
}

std::size_t MailPipes::pull(std::size_t peer, std::byte* into, std::size_t most) noexcept {
  Incoming& link = incoming_[peer];
  if (link.begin == link.end) {
    if (!link.socket || link.ended) return 0;
    if (most >= taken_at_once) return receive(link, into, std::min(most, most_at_once));
    link.begin = 0;
    link.end = receive(link, link.taken.get(), taken_at_once);
  }
  const std::size_t count = std::min(most, link.end - link.begin);
  if (count > 0) std::memcpy(into, link.taken.get() + link.begin, count);
  link.begin += count;
  return count;
}

void MailPipes::break_off(std::size_t peer) noexcept {
  if (outgoing_[peer].socket) (void)shutdown(outgoing_[peer].socket.get(), SHUT_WR);
}

void MailPipes::check(const Where& where, std::size_t peer) {
  // In this order: a peer that left after it had come is not gone before what it left behind was looked at.
  const bool departed = sentinel_.departed(peer);
  take_new_links();
  const Incoming& link = incoming_[peer];
  if (link.ended || outgoing_[peer].lost || (departed && !link.socket)) throw_gone(where, peer);
}

void MailPipes::throw_gone(const Where& where, std::size_t peer) const {
  // It may have gone because of something that everyone is about to hear.
  if (sentinel_.await_verdict(grace)) sentinel_.conclude(where);
  throw PeerFailed(where, FailedPeer{.rank = peer, .host = {}, .pid = {}, .signal = {}, .exit_code = {}});
}

/// Sleeps on whatever may come, room where there was none, and the sentinel.
void MailPipes::rest(std::chrono::nanoseconds longest) {
  watched_.clear();
  watched_.push_back({sentinel_.bell(), POLLIN, 0});
  for (const Incoming& link : incoming_) {
    if (link.socket && !link.ended) watched_.push_back({link.socket.get(), POLLIN, 0});
  }
  for (const Outgoing& link : outgoing_) {
    if (link.full) watched_.push_back({link.socket.get(), POLLOUT, 0});
  }
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(longest);
  (void)poll(watched_.data(), watched_.size(), static_cast<int>(milliseconds.count()));
}

}  // namespace cobre::comm::tcp
