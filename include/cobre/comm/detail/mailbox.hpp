// What stands behind every channel: messages as bytes with an envelope, and the post office that moves them. Each
// backend has one.
#pragma once

#include <cobre/comm/errors.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace cobre::comm::detail {

/// Channels and plain sends never meet, whatever their tags.
enum class Realm : std::uint8_t { Plain, Channel };

/// Whom a message goes to or comes from, and by which name it is known on both sides.
struct Envelope {
  std::size_t peer = 0;
  std::int64_t tag = 0;
  Realm realm = Realm::Plain;
};

class Mailbox;

/// How long to wait: as the communicator was configured to.
inline constexpr std::chrono::nanoseconds as_configured{-1};

inline constexpr std::chrono::nanoseconds for_ever = std::chrono::nanoseconds::max();

/// One message on its way, out or in. Its owner keeps it in its place until it is over. A receive that is destroyed
/// before its owner has heard that it is over leaves its message to the next one; a send is completed first where its
/// caller does not wait for it, within a short time only where an exception made it go, and otherwise given up.
class Transfer {
 public:
  enum class Direction : std::uint8_t { Out, In };
  enum class State : std::uint8_t { New, UnderWay, Done, Misfit };
  enum class OnDrop : std::uint8_t { Complete, CompleteSoon, GiveUp };

  Transfer(std::string_view called, const Envelope& to, const void* from, std::size_t length, OnDrop dropped) noexcept
      : operation(called),
        envelope(to),
        direction(Direction::Out),
        on_drop(dropped),
        data(static_cast<std::byte*>(const_cast<void*>(from))),
        bytes(length) {}
  /// `exact`: the message must have as many bytes as there is room for, not just at most.
  Transfer(std::string_view called, const Envelope& from, void* into, std::size_t room, std::size_t size_of_element,
           bool must_fill) noexcept
      : operation(called),
        envelope(from),
        direction(Direction::In),
        exact(must_fill),
        element_size(size_of_element),
        data(static_cast<std::byte*>(into)),
        bytes(room) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();

  /// The state for who is outside of the mailbox, while another thread may bring the transfer to its end inside.
  /// Whoever sees that (acquire) also sees what came (release).
  [[nodiscard]] State seen() const noexcept {
    return std::atomic_ref(const_cast<State&>(state)).load(std::memory_order_acquire);
  }
  void come_to(State end) noexcept { std::atomic_ref(state).store(end, std::memory_order_release); }

  /// Whether a message of that length may go into this receive.
  [[nodiscard]] bool fits(std::size_t message) const noexcept {
    return exact ? message == bytes : message <= bytes && message % element_size == 0;
  }

  std::string_view operation;  // as the user knows it
  Envelope envelope;
  Direction direction;
  OnDrop on_drop = OnDrop::GiveUp;
  std::chrono::nanoseconds timeout = as_configured;  // after which the caller gives a send up, who waits for it
  State state = State::New;
  bool exact = true;
  bool heard = false;  // by its owner, and no other thread looks: this receive is done, so its message is taken
  std::size_t element_size = 1;
  std::byte* data;
  std::size_t bytes;                 // to send, or room to receive
  std::size_t message_bytes = 0;     // of the message that came, whether or not it fits
  std::uint64_t message_number = 0;  // of the one that was taken: later ones of its channel have larger numbers
  Transfer* next = nullptr;          // in the queue of its mailbox
  Mailbox* mailbox = nullptr;        // while it is under way
  std::shared_ptr<void> attachment;  // what the layer below needs to know of it
};

class Mailbox {
 public:
  Mailbox(std::size_t rank, std::size_t size, std::int64_t largest_tag) noexcept
      : rank_(rank), size_(size), largest_tag_(largest_tag) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  virtual ~Mailbox() = default;

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t largest_tag() const noexcept { return largest_tag_; }
  [[nodiscard]] Where where(std::string_view operation) const noexcept { return {operation, rank_, size_}; }

  /// Sets it going; never waits for the peer.
  virtual void start(Transfer& transfer) = 0;
  /// Waits until it is over. Where this throws, the transfer stays as it is, and may be waited for again.
  virtual void finish(Transfer& transfer, std::chrono::nanoseconds timeout) = 0;
  /// Whether it is over, without waiting.
  [[nodiscard]] virtual bool test(Transfer& transfer) = 0;
  /// See ~Transfer. A receive may be done: then its buffer holds a message of which nobody has heard.
  virtual void abandon(Transfer& transfer) noexcept = 0;

  virtual void run(Transfer& transfer, std::chrono::nanoseconds timeout) {
    start(transfer);
    finish(transfer, timeout);
  }
  /// Both, and both within one timeout.
  void exchange(Transfer& sending, Transfer& receiving, std::chrono::nanoseconds timeout);
  /// The caller goes away and leaves a transfer under way: it goes on wherever this thread waits for something else.
  virtual void leave() {}
  /// What `as_configured` means.
  [[nodiscard]] virtual std::chrono::nanoseconds configured_timeout() const noexcept = 0;

 protected:
  /// The message does not fit; it waits for a receive into which it does.
  [[noreturn]] static void throw_misfit(const Where& where, const Transfer& transfer);
  [[noreturn]] static void throw_nothing_from_self(const Where& where, const Transfer& transfer);

 private:
  std::size_t rank_;
  std::size_t size_;
  std::int64_t largest_tag_;
};

inline Transfer::~Transfer() {
  const State last = seen();
  const bool unheard = last == State::Done && direction == Direction::In && !heard;
  if (last == State::UnderWay || unheard) mailbox->abandon(*this);
}

/// Checked before anything is sent: the peer is a rank, and the tag one that this backend can carry.
[[noreturn, gnu::cold]] void throw_invalid_peer(Where where, std::size_t peer);
[[noreturn, gnu::cold]] void throw_invalid_tag(Where where, std::int64_t tag, std::int64_t largest);

inline void check_envelope(std::string_view operation, const Mailbox& mailbox, const Envelope& envelope) {
  if (envelope.peer >= mailbox.size()) [[unlikely]]
    throw_invalid_peer(mailbox.where(operation), envelope.peer);
  if (envelope.tag < 0 || envelope.tag > mailbox.largest_tag()) [[unlikely]]
    throw_invalid_tag(mailbox.where(operation), envelope.tag, mailbox.largest_tag());
}

}  // namespace cobre::comm::detail
