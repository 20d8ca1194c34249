// Messages between any two ranks: begun, waited for and taken back by the user. Whoever waits for anything takes in
// what comes from everyone, so that ranks which send to each other in a circle all get on.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "comm/algorithms/mail_boxes.hpp"
#include "comm/algorithms/mail_note.hpp"
#include "comm/algorithms/mail_warnings.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/errand.hpp"
#include "comm/core/exclusive.hpp"
#include "comm/core/format.hpp"
#include "comm/core/progress.hpp"
#include "comm/core/waiting.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::algorithms {

struct MailSettings {
  core::WaitPolicy policy{.spins = 1, .yielding = std::chrono::microseconds(0)};
  std::chrono::milliseconds timeout{0};  // 0: never
  std::chrono::milliseconds warn_after{10000};
};

template <class Pipes>
class Mailroom final : public MailBoxes<Pipes>, private core::Errand {
  using Boxes = MailBoxes<Pipes>;
  using Box = typename Boxes::Box;

 public:
  using Transfer = detail::Transfer;
  using Clock = std::chrono::steady_clock;
  using Boxes::rank;
  using Boxes::size;
  using Boxes::where;

  Mailroom(std::size_t own_rank, std::size_t ranks, Pipes pipes) : Boxes(own_rank, ranks, std::move(pipes)) {}
  Mailroom(const Mailroom&) = delete;
  Mailroom& operator=(const Mailroom&) = delete;
  /// What lies in the pipes counts as unread too, unless the communicator failed: then nobody expects to have
  /// everything.
  ~Mailroom() override {
    (void)take_back();
    try {
      // Not enter(): nobody asks for the reason, which may have to be waited for, from a watch that is gone by now.
      const bool usable = size() == 1 || pipes_.usable();
      for (std::size_t peer = 0; usable && peer < size(); ++peer) {
        if (peer != rank()) (void)take_in(peer, nullptr);
      }
      if (usable) warn_of_unread(*this, unread_);
    } catch (const std::exception&) {  // a peer that goes while this rank looks
    }
    for (std::size_t peer = 0; peer < size(); ++peer) pipes_.let_go(peer);
  }

  void start(Transfer& transfer) override {
    const core::Exclusive exclusive(busy_, where(transfer.operation));
    const Presence presence(*this);
    this->begin(transfer, patience_with_the_way);
  }

  void finish(Transfer& transfer, std::chrono::nanoseconds timeout) override {
    const core::Exclusive exclusive(busy_, where(transfer.operation));
    const Presence presence(*this);
    await(transfer, timeout);
  }

  void run(Transfer& transfer, std::chrono::nanoseconds timeout) override {
    const core::Exclusive exclusive(busy_, where(transfer.operation));
    const Presence presence(*this);
    core::crash_point<"mail.begins">();
    this->begin(transfer);
    core::crash_point<"mail.begun">();
    await(transfer, timeout);
    core::crash_point<"mail.done">();
  }

  [[nodiscard]] bool test(Transfer& transfer) override {
    const core::Exclusive exclusive(busy_, where(transfer.operation));
    const Presence presence(*this);
    if (transfer.state == Transfer::State::UnderWay) {
      pipes_.enter(where(transfer.operation));
      const bool moved = look_everywhere(&transfer);
      // Nothing there: then it matters whether anything can still come.
      if (!moved && transfer.state == Transfer::State::UnderWay && transfer.envelope.peer != rank()) {
        require_peer(transfer);
      }
    }
    return concluded(transfer);
  }

  void abandon(Transfer& transfer) noexcept override {
    const Presence presence(*this);
    // From here on nobody else brings it to its end.
    if (transfer.direction == Transfer::Direction::Out) {
      take_back_send(transfer);
    } else if (transfer.state == Transfer::State::Done) {
      give_back(transfer);
    } else {
      take_back_receive(transfer);
    }
    if (transfer.state == Transfer::State::UnderWay) settle(transfer, Transfer::State::New);
  }

  void leave() override {
    if (has_work()) hand_in();
  }

  [[nodiscard]] std::chrono::nanoseconds configured_timeout() const noexcept override {
    const std::chrono::milliseconds timeout = pipes_.settings().timeout;
    return timeout.count() > 0 ? timeout : forever;
  }

 private:
  using Boxes::boxes_;
  using Boxes::give_back;
  using Boxes::look_at;
  using Boxes::look_everywhere;
  using Boxes::pipes_;
  using Boxes::require_whole;
  using Boxes::settle;
  using Boxes::take_back_receive;
  using Boxes::take_in;
  using Boxes::throw_misfit;
  using Boxes::throw_nothing_from_self;
  using Boxes::under_way_;
  using Boxes::unread_;

  /// The caller is here, and goes on with everything itself.
  class Presence {
   public:
    explicit Presence(Mailroom& room) noexcept : room_(room), was_handed_in_(room.take_back()) {}
    Presence(const Presence&) = delete;
    Presence& operator=(const Presence&) = delete;
    ~Presence() {
      if (was_handed_in_ && room_.has_work()) room_.hand_in();
    }

   private:
    Mailroom& room_;
    bool was_handed_in_;
  };

  [[nodiscard]] bool has_work() const noexcept { return under_way_ > 0 || pipes_.unfinished(); }

  /// While the thread of this rank waits for something else.
  Step advance() noexcept override {
    try {
      if (!pipes_.usable()) return Step::Done;  // whoever comes back is told why
      const bool moved = look_everywhere(nullptr);
      return !has_work() ? Step::Done : moved ? Step::Moved : Step::Still;
    } catch (const std::exception&) {  // no memory to keep what came: it is still where it was
      return Step::Still;
    }
  }

  /// For who does not wait for it any more; whether it could be sent in time.
  bool send_out(Transfer& transfer, const Box& box) {
    const bool in_haste = transfer.on_drop == Transfer::OnDrop::CompleteSoon;
    for (;;) {
      const std::pair before(box.numbered, box.sent);
      try {
        await(transfer, in_haste ? core::grace_while_unwinding : detail::as_configured);
        return true;
      } catch (const TimedOut&) {
        if (in_haste && before != std::pair(box.numbered, box.sent)) continue;  // its peer is there, and takes it
        warn_of_giving_up(*this, transfer, "it is given up, and nothing more can be sent there");
        return false;
      }
    }
  }

  void take_back_send(Transfer& transfer) noexcept {
    Box& box = boxes_[transfer.envelope.peer];
    const bool owed = transfer.on_drop != Transfer::OnDrop::GiveUp;
    try {
      if (owed && send_out(transfer, box)) return;
    } catch (const std::exception&) {  // it cannot be completed, and there is nobody to tell
    }
    // Whoever waits for what is owed must hear that it will not come.
    const bool begun = box.outgoing.first() == &transfer && box.sent > 0;
    if (begun || owed) {
      box.gave_up = begun ? "a message to this peer was given up half-way" : "a message to this peer was given up";
      pipes_.break_off(transfer.envelope.peer);
    }
    box.outgoing.remove(transfer);
  }

  /// Whether it is over; throws where it ended badly.
  [[nodiscard]] bool concluded(const Transfer& transfer) const {
    if (transfer.state == Transfer::State::Misfit) [[unlikely]]
      throw_misfit(where(transfer.operation), transfer);
    return transfer.state == Transfer::State::Done;
  }

  void await(Transfer& transfer, std::chrono::nanoseconds timeout) {
    if (concluded(transfer)) return;
    pipes_.enter(where(transfer.operation));
    // Nobody but this very thread could send it.
    if (transfer.envelope.peer == rank()) throw_nothing_from_self(where(transfer.operation), transfer);
    // Spinning is for who has nothing else to do; what this thread has under way may be what the peer waits for.
    const std::uint32_t spins = core::has_other_work() ? 0 : pipes_.settings().policy.spins;
    for (std::uint32_t turn = 1; turn <= spins; ++turn) {
      const bool moved = turn % others_every == 0 ? look_everywhere(&transfer) : look_at(transfer);
      if (concluded(transfer)) return;
      if (!moved) core::pause();
    }
    await_patiently(transfer, timeout);
  }

  void await_patiently(Transfer& transfer, std::chrono::nanoseconds timeout) {
    const Noted noted(pipes_.note(), transfer);
    const MailSettings& settings = pipes_.settings();
    if (timeout == detail::as_configured) timeout = configured_timeout();
    const auto begin = Clock::now();
    auto last_moved = begin;
    Clock::duration next_warning = settings.warn_after;
    for (;;) {
      const bool moved = look_everywhere(&transfer);
      if (concluded(transfer)) return;
      const auto now = Clock::now();
      if (moved) last_moved = now;
      if (now - begin >= timeout) {
        throw TimedOut(where(transfer.operation), std::chrono::duration<double>(now - begin).count(),
                       {transfer.envelope.peer});
      }
      if (now - last_moved < settings.policy.yielding) {
        if (!moved) core::give_way();
        continue;
      }
      require_peer(transfer);
      if (concluded(transfer)) return;
      if (now - begin >= next_warning) {
        warn_of_waiting(transfer, now - begin);
        next_warning *= 2;
      }
      const auto left =
          timeout == forever ? between_checks : std::min<Clock::duration>(timeout - (now - begin), between_checks);
      const auto has_moved = [&] {
        const bool came = look_everywhere(&transfer);
        if (came) last_moved = Clock::now();
        return came || transfer.state != Transfer::State::UnderWay;
      };
      if (core::has_other_work()) {
        core::give_way_until(has_moved, now + left);
      } else {
        pipes_.sleep(has_moved, left);
      }
      pipes_.enter(where(transfer.operation));
    }
  }

  /// Throws where the peer is gone and has left nothing that would end the waiting.
  void require_peer(Transfer& transfer) {
    Box& box = boxes_[transfer.envelope.peer];
    const bool in = transfer.direction == Transfer::Direction::In;
    require_whole(in ? box.lost : box.gave_up, transfer);
    try {
      pipes_.check(where(transfer.operation), transfer.envelope.peer);
      if (!in) (void)pipes_.reach(where(transfer.operation), transfer.envelope.peer, {});
    } catch (const CommError&) {
      // What it did before it went still counts.
      (void)look_everywhere(&transfer);
      if (transfer.state == Transfer::State::UnderWay) throw;
    }
  }

  void warn_of_waiting(const Transfer& transfer, Clock::duration waited) {
    const std::size_t peer = transfer.envelope.peer;
    const bool in = transfer.direction == Transfer::Direction::In;
    const bool reached = in || pipes_.reach(where(transfer.operation), peer, {});
    const std::string what =
        reached ? core::format("{} rank {} with tag {}", in ? "nothing came from" : "no room for a message to", peer,
                               transfer.envelope.tag)
                : core::format("rank {} does not answer", peer);
    core::warn(core::format("{} on rank {} of {}: waiting for {:.0f} s; {}", transfer.operation, rank(), size(),
                            std::chrono::duration<double>(waited).count(), what));
  }

  static constexpr std::chrono::nanoseconds forever = detail::for_ever;
  static constexpr Clock::duration between_checks = std::chrono::milliseconds(4);  // a death is seen within this time
  // Where the first message to a rank opens a connection, its machine answers in this time, however busy the rank is:
  // so a short message is on its way when whoever started it goes on.
  static constexpr std::chrono::milliseconds patience_with_the_way{10};
  static constexpr std::uint32_t others_every = 16;  // turns of spinning on the one that matters

  std::atomic<bool> busy_{false};
};

}  // namespace cobre::comm::algorithms
