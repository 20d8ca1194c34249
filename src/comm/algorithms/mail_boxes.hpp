// Where messages lie between the user and the streams of bytes, one for each direction of each pair of ranks; nobody
// waits here.
//
// A message is a letter and its bytes, in one piece on its stream. Who takes it from the stream finds the receive that
// waits for it and puts the bytes straight into the user's buffer; a message that nobody waits for yet is kept.
//
// Pipes are the streams of one rank:
//   enter(where)                   throws where the communicator cannot be used
//   reach(where, peer, patience)   this rank is going to send to that one: whether it can already, for which it may
//                                  wait so long where it begins to make a way there; throws where there will be none
//   unfinished()                   whether there is something to be done for which no transfer waits
//   push(peer, first, second)      as many bytes of the two spans, in this order, as there is room for now
//   pull(peer, into, most)         as many bytes as there are now; more may be written there until all have come, or …
//   let_go(peer)                   … that place is given up: returns when nobody writes there any more
//   break_off(peer)                the message that this rank began to send will never be whole
//   check(where, peer)             throws where nothing will ever come from that peer, or go to it
//   sleep(look, longest)           sleeps until something moves, unless look() says that it did
//   usable()                       whether messages can still move; takes note of who has come
//   settings()                     how to wait
//   note()                         where to write down what is waited for
#pragma once

#include <cobre/comm/detail/mailbox.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/algorithms/letter.hpp"
#include "comm/algorithms/transfer_queue.hpp"
#include "comm/algorithms/unread.hpp"
#include "comm/core/format.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::algorithms {

template <class Pipes>
class MailBoxes : public detail::Mailbox {
 public:
  using Transfer = detail::Transfer;
  [[nodiscard]] Pipes& pipes() noexcept { return pipes_; }

 protected:
  MailBoxes(std::size_t rank, std::size_t size, Pipes pipes)
      : Mailbox(rank, size, std::numeric_limits<std::int64_t>::max()), pipes_(std::move(pipes)), boxes_(size) {}

  struct Box {
    // Out.
    TransferQueue outgoing;
    Letter letter_out;
    std::size_t sent = 0;  // of the first one: letter and bytes
    std::uint64_t numbered = 0;
    std::optional<std::string_view> gave_up;  // why nothing can be sent any more
    // In.
    TransferQueue expected;  // receives, in the order in which they were posted
    Letter letter;
    std::size_t got = 0;  // of the letter
    bool opened = false;
    Transfer* receiver = nullptr;  // whoever gets the bytes that come, or
    Unread* unread = nullptr;
    std::size_t filled = 0;
    std::uint64_t counted = 0;
    std::optional<std::string_view> lost;  // why nothing more comes from there
    bool lost_before_others = false;       // nor can what has come be received, because it was sent later
  };

  static std::span<const std::byte> bytes_of(const Letter& letter) noexcept {
    return std::as_bytes(std::span(&letter, 1));
  }
  static bool same_channel(const detail::Envelope& a, const detail::Envelope& b) noexcept {
    return a.tag == b.tag && a.realm == b.realm;
  }

  void set_out(Transfer& transfer) noexcept {
    transfer.state = Transfer::State::UnderWay;
    if (transfer.envelope.peer != rank()) ++under_way_;
  }
  void settle(Transfer& transfer, Transfer::State how) noexcept {
    if (transfer.envelope.peer != rank()) --under_way_;
    transfer.come_to(how);
  }

  void begin(Transfer& transfer, std::chrono::nanoseconds patience = {}) {
    pipes_.enter(where(transfer.operation));
    transfer.mailbox = this;
    if (transfer.direction == Transfer::Direction::In) {
      Box& box = boxes_[transfer.envelope.peer];
      if (box.lost_before_others) [[unlikely]]
        require_whole(box.lost, transfer);
      set_out(transfer);
      box.expected.append(transfer);
      hand_over(transfer.envelope);
    } else if (transfer.envelope.peer == rank()) {
      keep(transfer.envelope, transfer.data, transfer.bytes);
      hand_over(transfer.envelope);
      transfer.state = Transfer::State::Done;
    } else {
      Box& box = boxes_[transfer.envelope.peer];
      require_whole(box.gave_up, transfer);
      (void)pipes_.reach(where(transfer.operation), transfer.envelope.peer, patience);
      set_out(transfer);
      box.outgoing.append(transfer);
      (void)give_out(transfer.envelope.peer);
    }
  }

  bool give_out(std::size_t peer) {
    Box& box = boxes_[peer];
    bool moved = false;
    while (Transfer* const transfer = box.outgoing.first()) {
      if (box.gave_up) return moved;
      if (box.sent == 0) {
        box.letter_out = {.from = static_cast<std::uint16_t>(rank()),
                          .realm = static_cast<std::uint16_t>(transfer->envelope.realm),
                          .tag = transfer->envelope.tag,
                          .bytes = transfer->bytes,
                          .number = box.numbered};
      }
      const std::span<const std::byte> payload(transfer->data, transfer->bytes);
      const std::size_t pushed = box.sent < sizeof(Letter)
                                     ? pipes_.push(peer, bytes_of(box.letter_out).subspan(box.sent), payload)
                                     : pipes_.push(peer, {}, payload.subspan(box.sent - sizeof(Letter)));
      box.sent += pushed;
      moved = moved || pushed > 0;
      if (box.sent < sizeof(Letter) + transfer->bytes) return moved;
      box.sent = 0;
      ++box.numbered;
      box.outgoing.remove(*transfer);
      settle(*transfer, Transfer::State::Done);
    }
    return moved;
  }

  /// Takes what has come from one peer, up to the message that is awaited.
  bool take_in(std::size_t peer, const Transfer* awaited) {
    Box& box = boxes_[peer];
    bool moved = false;
    for (int messages = 0; messages < most_at_once; ++messages) {
      while (box.got < sizeof(Letter)) {
        const std::size_t pulled =
            pipes_.pull(peer, reinterpret_cast<std::byte*>(&box.letter) + box.got, sizeof(Letter) - box.got);
        if (pulled == 0) return moved;
        moved = true;
        box.got += pulled;
      }
      if (!box.opened) open(peer, box);
      if (box.lost) [[unlikely]]
        return moved;
      std::byte* const place = box.receiver != nullptr ? box.receiver->data : box.unread->data.get();
      while (box.filled < box.letter.bytes) {
        const std::size_t pulled = pipes_.pull(peer, place + box.filled, box.letter.bytes - box.filled);
        if (pulled == 0) return moved;
        moved = true;
        box.filled += pulled;
      }
      close(peer, box);
      if (awaited != nullptr && awaited->state != Transfer::State::UnderWay) return true;
    }
    return moved;
  }

  /// A letter is here: finds out who gets its bytes.
  void open(std::size_t peer, Box& box) {
    if (!is_sensible(box.letter, peer, box.counted)) [[unlikely]] {
      box.lost = "what came from this peer is no message; its memory, or what lies between, is corrupt";
      return;
    }
    const auto envelope = envelope_of(peer, box.letter);
    box.filled = 0;
    if (unread_.find(envelope) == nullptr) {
      while (Transfer* const receive = first_expected(envelope)) {
        box.expected.remove(*receive);
        receive->message_bytes = box.letter.bytes;
        receive->message_number = box.letter.number;
        if (receive->fits(box.letter.bytes)) {
          box.receiver = receive;
          box.opened = true;
          return;
        }
        settle(*receive, Transfer::State::Misfit);
      }
    }
    box.unread = &add_unread(envelope, box.letter.bytes, box.letter.number);
    box.opened = true;
  }

  void close(std::size_t peer, Box& box) {
    const auto envelope = envelope_of(peer, box.letter);
    if (box.receiver != nullptr) {
      settle(*box.receiver, Transfer::State::Done);
    } else {
      box.unread->complete = true;
    }
    const bool kept = box.receiver == nullptr;
    box.receiver = nullptr;
    box.unread = nullptr;
    box.got = 0;
    box.opened = false;
    ++box.counted;
    if (kept) hand_over(envelope);
  }

  static detail::Envelope envelope_of(std::size_t peer, const Letter& letter) noexcept {
    return {peer, letter.tag, static_cast<detail::Realm>(letter.realm)};
  }

  [[nodiscard]] Transfer* first_expected(const detail::Envelope& envelope) {
    return boxes_[envelope.peer].expected.find(
        [&](const Transfer& receive) { return same_channel(receive.envelope, envelope); });
  }

  Unread& add_unread(const detail::Envelope& envelope, std::size_t bytes, std::uint64_t number) {
    try {
      // Not zeroed: every byte is written before it is read.
      return unread_.add(envelope, {std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes, false, number});
    } catch (const std::bad_alloc&) {
      throw AllocationFailed(where("recv"), bytes,
                             core::format("a message from rank {} with tag {} came before it was wanted, and there is "
                                          "no room to keep it; receive it sooner",
                                          envelope.peer, envelope.tag));
    }
  }
  void keep(const detail::Envelope& envelope, const std::byte* data, std::size_t bytes) {
    Unread& message = add_unread(envelope, bytes, boxes_[envelope.peer].counted++);
    if (bytes > 0) std::memcpy(message.data.get(), data, bytes);
    message.complete = true;
  }

  /// Brings messages that were kept and receives that wait for them together.
  void hand_over(const detail::Envelope& envelope) {
    Box& box = boxes_[envelope.peer];
    for (;;) {
      auto* const queue = unread_.find(envelope);
      if (queue == nullptr || !queue->front().complete) return;
      Transfer* const receive = first_expected(envelope);
      if (receive == nullptr) return;
      const Unread& message = queue->front();
      box.expected.remove(*receive);
      receive->message_bytes = message.bytes;
      receive->message_number = message.number;
      if (!receive->fits(message.bytes)) {
        settle(*receive, Transfer::State::Misfit);
        continue;
      }
      if (message.bytes > 0) std::memcpy(receive->data, message.data.get(), message.bytes);
      settle(*receive, Transfer::State::Done);
      unread_.remove_first(envelope);
    }
  }

  void take_back_receive(Transfer& transfer) noexcept {
    Box& box = boxes_[transfer.envelope.peer];
    box.expected.remove(transfer);
    if (box.receiver != &transfer) return;
    pipes_.let_go(transfer.envelope.peer);
    // Half of the message is in the user's buffer already: what comes next goes elsewhere.
    box.receiver = nullptr;
    try {
      box.unread = &add_unread(transfer.envelope, box.letter.bytes, box.letter.number);
      if (box.filled > 0) std::memcpy(box.unread->data.get(), transfer.data, box.filled);
    } catch (const std::exception&) {
      box.opened = false;
      lose(transfer);
    }
  }

  /// The message of a receive that is done, of which nobody has heard: for the next one that has none yet.
  void give_back(Transfer& transfer) noexcept {
    const std::size_t bytes = transfer.message_bytes;
    try {
      Unread message{std::unique_ptr<std::byte[]>(new std::byte[bytes]), bytes, true, transfer.message_number};
      if (bytes > 0) std::memcpy(message.data.get(), transfer.data, bytes);
      unread_.add_first(transfer.envelope, std::move(message));
      hand_over(transfer.envelope);
    } catch (const std::exception&) {
      boxes_[transfer.envelope.peer].lost_before_others = true;
      lose(transfer);
    }
  }

  /// Nobody may take a later message for the one that is missing.
  void lose(const Transfer& transfer) noexcept {
    boxes_[transfer.envelope.peer].lost = "there was no memory to keep a message whose receive was given up";
    try {
      core::warn(core::format(
          "{} on rank {} of {}: its receive was given up, and there is no memory to keep the message "
          "of {} bytes from rank {} with tag {}; nothing more can be received from there",
          transfer.operation, rank(), size(), transfer.message_bytes, transfer.envelope.peer, transfer.envelope.tag));
    } catch (const std::exception&) {
      core::warn("a message is lost: its receive was given up, and there was no memory to keep it");
    }
  }

  bool look_everywhere(const Transfer* awaited) {
    bool moved = false;
    for (std::size_t peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      moved = give_out(peer) || moved;
      // What comes next may be for a receive that follows at once: better there than kept.
      if (awaited != nullptr && awaited->state != Transfer::State::UnderWay) return true;
      moved = take_in(peer, awaited) || moved;
    }
    return moved;
  }
  bool look_at(const Transfer& transfer) {
    const bool moved = transfer.direction == Transfer::Direction::Out && give_out(transfer.envelope.peer);
    return transfer.state != Transfer::State::UnderWay || take_in(transfer.envelope.peer, &transfer) || moved;
  }

  void require_whole(const std::optional<std::string_view>& broken, const Transfer& transfer) const {
    if (broken) [[unlikely]] {
      throw InvalidCommunicator(where(transfer.operation),
                                core::format("rank {}: {}", transfer.envelope.peer, *broken));
    }
  }

  static constexpr int most_at_once = 64;  // messages of one peer, before the others have their turn

  Pipes pipes_;
  std::vector<Box> boxes_;
  UnreadMessages unread_;
  std::size_t under_way_ = 0;  // transfers to and from others
};

}  // namespace cobre::comm::algorithms
