// The streams between this rank and each other one, over connections of their own.
//
// Both directions of a pair use one connection, so that an acknowledgement rides on the answer instead of being a
// packet of its own. For the pairs that the collectives use it is there from the start. Elsewhere the first one to send
// opens it, so that a message goes out however busy its receiver is; nobody waits for that but who waits for a message,
// and for no longer. Where both do so at the same time there are two, and each rank sends on its own for good: so a
// peer that has opened one sends there, and any other one where this rank sends. Who has begun to open one therefore
// goes on with it. A connection that ends says that its sender is gone, after everything that it sent.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/algorithms/mailroom.hpp"
#include "comm/backends/tcp/opening.hpp"
#include "comm/backends/tcp/sentinel.hpp"
#include "comm/backends/tcp/wire.hpp"
#include "comm/core/fork_guard.hpp"

namespace cobre::comm::tcp {

class MailPipes {
 public:
  /// `connected`: the connections that are there from the start, by peer.
  MailPipes(std::vector<core::Descriptor> connected, Wire& wire, Sentinel& sentinel, algorithms::MailNote& note,
            const core::ForkGuard& guard, const algorithms::MailSettings& settings);
  MailPipes(MailPipes&&) = default;
  MailPipes& operator=(MailPipes&&) = delete;
  /// Waits until the peers' machines have what was sent, unless the communicator failed.
  ~MailPipes();

  void enter(const Where& where);
  [[nodiscard]] bool usable() {
    if (guard_.in_child() || sentinel_.finished()) return false;
    take_new_links();
    go_on_opening();
    return true;
  }
  bool reach(const Where& where, std::size_t peer, std::chrono::nanoseconds patience) {
    return lines_[peer].own ? true : open(where, peer, patience);
  }
  /// What was given up before a connection was there: the peer is to see that connection end.
  [[nodiscard]] bool unfinished() const noexcept {
    return opening_ > 0 &&
           std::ranges::any_of(lines_, [](const Line& line) { return line.broken_off && line.opens(); });
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
  [[nodiscard]] algorithms::MailNote& note() noexcept { return note_; }

 private:
  /// Small messages are taken from the kernel together.
  static constexpr std::size_t taken_at_once = 16384;

  struct Line {
    core::Descriptor own;                // on which this rank sends
    core::Descriptor theirs;             // on which the peer does, where that is another one
    std::unique_ptr<Opening> opening;    // of its own; stays where it failed, until somebody is told
    bool full = false;                   // the kernel took no more
    bool broken_off = false;             // nothing more may be sent
    bool lost = false;                   // nobody takes what is sent
    bool ended = false;                  // nothing more comes
    std::unique_ptr<std::byte[]> taken;  // from the kernel; the part that was not asked for yet:
    std::size_t begin = 0;
    std::size_t end = 0;

    [[nodiscard]] const core::Descriptor& incoming() const noexcept { return theirs ? theirs : own; }
    [[nodiscard]] bool opens() const noexcept {
      return opening != nullptr && opening->state() == Opening::State::UnderWay;
    }
  };

  [[nodiscard]] bool open(const Where& where, std::size_t peer, std::chrono::nanoseconds patience);
  void go_on_opening() noexcept {
    if (opening_ > 0) [[unlikely]] {
      for (Line& line : lines_) advance(line);
    }
  }
  void advance(Line& line) noexcept;
  void take_new_links() {
    if (sentinel_.mail_arrivals() != seen_arrivals_) [[unlikely]]
      take_arrivals();
  }
  void take_arrivals();
  static void prepare(Line& line);
  static void connect(Line& line, core::Descriptor socket) noexcept;
  [[nodiscard]] static std::size_t receive(Line& line, std::byte* into, std::size_t most) noexcept;
  [[noreturn]] void throw_gone(const Where& where, std::size_t peer) const;
  void rest(std::chrono::nanoseconds longest);

  std::size_t rank_;
  Wire& wire_;
  Sentinel& sentinel_;
  algorithms::MailNote& note_;
  const core::ForkGuard& guard_;
  algorithms::MailSettings settings_;
  std::vector<Line> lines_;  // by peer
  std::vector<pollfd> watched_;
  std::size_t opening_ = 0;  // how many are
  std::uint64_t seen_arrivals_ = 0;
  bool told_ = false;  // why the communicator is finished
};

using Mailroom = algorithms::Mailroom<MailPipes>;

}  // namespace cobre::comm::tcp
