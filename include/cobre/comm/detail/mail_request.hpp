// Messages in flight: what isend and irecv return.
//
// A `MailRequest` borrows the caller's buffer, which must live until it is over. A `PendingMail<R>` owns what was moved
// into it, or one value, and hands it back. Both may be moved and dropped at any time: dropping a receive leaves the
// message for the next one, also where it has come already and neither wait() nor test() has said so; dropping a send
// completes it; if an exception drops it, and its peer takes nothing within a second, it is given up. Messages move
// while some call of a channel of this communicator runs, and wherever the thread that started them waits inside
// another call of the library.
#pragma once

#include <cobre/comm/detail/line.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace cobre::comm {
namespace detail {

[[noreturn, gnu::cold]] void throw_channel_moved_from(const char* operation);
[[noreturn, gnu::cold]] void throw_no_mail_to_get();

/// What has to stay in its place while a message moves.
struct MailInFlight {
  explicit MailInFlight(std::shared_ptr<Mailbox> post) noexcept : mailbox(std::move(post)) {}
  MailInFlight(const MailInFlight&) = delete;
  MailInFlight& operator=(const MailInFlight&) = delete;
  virtual ~MailInFlight() = default;

  std::shared_ptr<Mailbox> mailbox;
  Transfer* transfer = nullptr;  // of the derived one
  int exceptions = std::uncaught_exceptions();
};

/// A container that was moved in, one value, or a span of what is borrowed. The transfer is declared last and so ends
/// first.
template <class Held>
struct MailInFlightWith final : MailInFlight {
  template <class Buffer, class Describe>
  MailInFlightWith(std::shared_ptr<Mailbox> post, Buffer&& buffer, Describe&& describe)
      : MailInFlight(std::move(post)), held(std::forward<Buffer>(buffer)), moving(describe(held)) {
    transfer = &moving;
  }
  ~MailInFlightWith() override {
    // Its peer may never come: see Transfer.
    if (std::uncaught_exceptions() > exceptions) moving.on_drop = Transfer::OnDrop::CompleteSoon;
  }
  Held held;
  Transfer moving;
};

}  // namespace detail

class [[nodiscard]] MailRequest {
 public:
  /// Nothing in flight.
  MailRequest() noexcept = default;
  explicit MailRequest(std::unique_ptr<detail::MailInFlight> flight) noexcept : flight_(std::move(flight)) {}

  /// Waits until the message is sent, or received. Called again, does nothing.
  void wait(std::chrono::nanoseconds timeout = detail::as_configured) {
    if (over()) return;
    flight_->mailbox->finish(*flight_->transfer, timeout);
    flight_->transfer->heard = true;
  }
  /// Whether it is, without waiting.
  [[nodiscard]] bool test() {
    return over() || (flight_->transfer->heard = flight_->mailbox->test(*flight_->transfer));
  }
  /// True once `wait()` or `test()` has seen the end, and for a request that was moved from.
  [[nodiscard]] bool is_complete() const noexcept { return flight_ == nullptr || flight_->transfer->heard; }

 private:
  /// Says so to the owner, who has heard of it then.
  [[nodiscard]] bool over() noexcept {
    if (flight_ == nullptr) return true;
    detail::Transfer& transfer = *flight_->transfer;
    return transfer.heard = transfer.seen() == detail::Transfer::State::Done;
  }

  std::unique_ptr<detail::MailInFlight> flight_;
};

/// A request that owns its buffer: the container that was moved in, or a value.
template <class R>
class [[nodiscard]] PendingMail : public MailRequest {
 public:
  PendingMail(std::unique_ptr<detail::MailInFlight> flight, R& held) noexcept
      : MailRequest(std::move(flight)), held_(&held) {}
  PendingMail(PendingMail&& other) noexcept
      : MailRequest(std::move(other)), held_(std::exchange(other.held_, nullptr)) {}
  PendingMail& operator=(PendingMail&& other) noexcept {
    MailRequest::operator=(std::move(other));
    held_ = std::exchange(other.held_, nullptr);
    return *this;
  }
  ~PendingMail() = default;

  /// Waits, then hands the container or the value back. Once.
  [[nodiscard]] R get(std::chrono::nanoseconds timeout = detail::as_configured) {
    if (held_ == nullptr) [[unlikely]]
      detail::throw_no_mail_to_get();
    wait(timeout);
    return std::move(*std::exchange(held_, nullptr));
  }

 private:
  R* held_;  // in flight
};

namespace detail {

template <Transfer::Direction direction, class Buffer>
auto start_mail(const std::shared_ptr<Mailbox>& mailbox, const Line& line, Buffer&& buffer) {
  constexpr bool out = direction == Transfer::Direction::Out;
  constexpr bool is_value = !BufferLike<Buffer>;
  const auto elements_of = [&](auto& held) {
    if constexpr (is_value) {
      require_comm_data<std::remove_cvref_t<Buffer>>();
      return std::span(&held, 1);
    } else if constexpr (out) {
      return line.outgoing("isend", held);
    } else {
      return line.incoming("irecv", held);
    }
  };
  const auto describe = [&](auto& held) {
    const auto elements = elements_of(held);
    if constexpr (out) {
      return Transfer("isend", line.envelope(), elements.data(), elements.size_bytes(), Transfer::OnDrop::Complete);
    } else {
      return Transfer("irecv", line.envelope(), elements.data(), elements.size_bytes(), sizeof(elements.front()), true);
    }
  };
  const auto launch = [&]<class Held>(std::unique_ptr<MailInFlightWith<Held>> flight) {
    mailbox->start(flight->moving);
    if (flight->moving.state == Transfer::State::UnderWay) mailbox->leave();
    return flight;
  };
  if constexpr (is_value || GivenAway<Buffer>) {
    using R = std::remove_cvref_t<Buffer>;
    auto flight = launch(std::make_unique<MailInFlightWith<R>>(mailbox, std::forward<Buffer>(buffer), describe));
    R& held = flight->held;
    return PendingMail<R>(std::move(flight), held);
  } else {
    using Elements = decltype(elements_of(buffer));
    return MailRequest(launch(std::make_unique<MailInFlightWith<Elements>>(mailbox, elements_of(buffer), describe)));
  }
}

}  // namespace detail
}  // namespace cobre::comm
