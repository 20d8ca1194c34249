// The streams between this rank and each other one, over connections of their own.
//
// Each direction of a pair has one, opened by the sender: at the start for the pairs that the collectives use, later
// for others when they first talk. So a message goes out however busy its receiver is, and a connection that ends says
// that its sender is gone, after everything that it sent.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/algorithms/mailroom.hpp"
#include "comm/backends/tcp/sentinel.hpp"
#include "comm/backends/tcp/wire.hpp"
#include "comm/core/fork_guard.hpp"

namespace cobre::comm::tcp {

class MailPipes {
 public:
  /// `opened`: the connections that this rank has opened already, by peer.
  MailPipes(std::vector<core::Descriptor> opened, Wire& wire, Sentinel& sentinel, const core::ForkGuard& guard,
            const algorithms::MailSettings& settings);

  void enter(const Where& where);
  void reach(const Where& where, std::size_t peer) {
    if (!outgoing_[peer].socket) [[unlikely]]
      open(where, peer);
  }
  std::size_t push(std::size_t peer, std::span<const std::byte> first, std::span<const std::byte> second) noexcept;
  std::size_t pull(std::size_t peer, std::byte* into, std::size_t most) noexcept;
  void break_off(std::size_t peer) noexcept;
  void let_go(std::size_t) noexcept {}  // nobody writes but pull()
  void check(const Where& where, std::size_t peer);
  template <class Look>
  void sleep(Look&& look, std::chrono::nanoseconds longest) {
    if (!look()) rest(longest);
  }
  [[nodiscard]] const algorithms::MailSettings& settings() const noexcept { return settings_; }

 private:
  /// Small messages are taken from the kernel together.
  static constexpr std::size_t taken_at_once = 16384;

  struct Outgoing {
    core::Descriptor socket;
    bool full = false;  // the kernel took no more
    bool lost = false;
  };
  struct Incoming {
    core::Descriptor socket;
    bool ended = false;
    std::unique_ptr<std::byte[]> taken;  // from the kernel; the part that was not asked for yet:
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void open(const Where& where, std::size_t peer);
  void take_new_links();
  [[nodiscard]] static std::size_t receive(Incoming& link, std::byte* into, std::size_t most) noexcept;
  [[noreturn]] void throw_gone(const Where& where, std::size_t peer) const;
  void rest(std::chrono::nanoseconds longest);

  std::size_t rank_;
  Wire& wire_;
  Sentinel& sentinel_;
  const core::ForkGuard& guard_;
  algorithms::MailSettings settings_;
  std::vector<Outgoing> outgoing_;  // by peer
  std::vector<Incoming> incoming_;
  std::vector<pollfd> watched_;
  std::uint64_t seen_arrivals_ = 0;
  bool told_ = false;  // why the communicator is finished
};

using Mailroom = algorithms::Mailroom<MailPipes>;

}  // namespace cobre::comm::tcp
