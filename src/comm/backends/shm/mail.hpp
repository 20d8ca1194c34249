// The streams between this rank and each other one, through shared memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "comm/algorithms/mailroom.hpp"
#include "comm/backends/shm/channel.hpp"
#include "comm/backends/shm/mail_layout.hpp"
#include "comm/backends/shm/peers.hpp"
#include "comm/backends/shm/reach.hpp"
#include "comm/core/fork_guard.hpp"

namespace cobre::comm::shm {

class MailPipes {
 public:
  MailPipes(const MailArea& area, Channel& channel, const Peers& peers, const Regions& regions,
            const core::ForkGuard& guard, const Channel::Settings& settings);

  void enter(const Where& where);
  [[nodiscard]] bool usable() const noexcept { return !guard_.in_child() && !channel_.has_verdict(); }
  static bool reach(const Where&, std::size_t, std::chrono::nanoseconds) noexcept { return true; }  // from the start
  [[nodiscard]] static bool unfinished() noexcept { return false; }
  std::size_t push(std::size_t peer, std::span<const std::byte> first, std::span<const std::byte> second) noexcept;
  std::size_t pull(std::size_t peer, std::byte* into, std::size_t most) noexcept;
  void break_off(std::size_t peer) noexcept;
  /// The place to which bytes were pulled may go: the peer does not write there any more.
  void let_go(std::size_t peer) noexcept;
  void check(const Where& where, std::size_t peer) const;
  template <class Look>
  void sleep(Look&& look, std::chrono::nanoseconds longest) {
    bell_.sleep(asymmetric_fences_, look, longest);
  }
  [[nodiscard]] const algorithms::MailSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] algorithms::MailNote& note() noexcept { return channel_.mail_note(); }
  /// Long messages are fetched from where they lie. All ranks or none: each can read the memory of each other.
  void use_single_copy(bool works) noexcept { single_copy_ = works; }
  /// Whether what one rank writes for another reaches that sooner past the caches.
  void use_streaming(bool helps) noexcept { far_ = helps; }
  void set_patience(std::chrono::milliseconds timeout, std::chrono::milliseconds warn_after) noexcept {
    settings_.timeout = timeout;
    settings_.warn_after = warn_after;
  }

 private:
  /// This rank's ends of the two pipes between it and a peer, and what it knows of the other ends.
  struct Ends {
    MailPipe* out;
    Word written = 0;
    Word seen_read = 0;
    Giver giver{out->offered, out->granted};
    MailPipe* in;
    Word read = 0;
    Word seen_written = 0;
    Taker taker{in->offered, in->granted};
  };

  void wake(std::size_t peer) noexcept;
  void put(Ends& ends, std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] std::size_t offer(std::size_t peer, std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] std::size_t fetch(std::size_t peer, std::byte* into, std::size_t most) noexcept;

  MailArea area_;
  Channel& channel_;
  const Peers& peers_;
  Reach reach_;
  const core::ForkGuard& guard_;
  algorithms::MailSettings settings_;
  bool asymmetric_fences_;
  std::size_t capacity_;
  bool single_copy_ = false;
  bool far_ = false;
  Bell& bell_;
  std::vector<Ends> ends_;
};

using Mailroom = algorithms::Mailroom<MailPipes>;

}  // namespace cobre::comm::shm
