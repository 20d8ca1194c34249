// Sending to and receiving from one peer under one tag: types are checked, ranges become bytes, and the mailbox does
// the rest. Channels and the plain calls of a communicator are both made of this.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <cobre/comm/detail/arguments.hpp>
#include <cobre/comm/detail/mailbox.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace cobre::comm::detail {

class Line {
 public:
  Line(Mailbox& mailbox, const Envelope& envelope) noexcept : mailbox_(&mailbox), envelope_(envelope) {}

  [[nodiscard]] Mailbox& mailbox() const noexcept { return *mailbox_; }
  [[nodiscard]] const Envelope& envelope() const noexcept { return envelope_; }

  template <BufferLike Buffer>
  void send(const Buffer& buffer, std::chrono::nanoseconds timeout) const {
    const auto elements = outgoing("send", buffer);
    Transfer transfer("send", envelope_, elements.data(), elements.size_bytes(), Transfer::OnDrop::GiveUp);
    mailbox_->run(transfer, timeout);
  }
  template <class T>
  requires(!BufferLike<T>) void send(const T& value, std::chrono::nanoseconds timeout) const {
    require_comm_data<T>();
    send(std::span<const T, 1>(&value, 1), timeout);
  }

  template <BufferLike Buffer>
  void recv(Buffer&& buffer, std::chrono::nanoseconds timeout) const {
    const auto elements = incoming("recv", std::forward<Buffer>(buffer));
    (void)receive("recv", elements, true, timeout);
  }
  template <class T>
  [[nodiscard]] T recv(std::chrono::nanoseconds timeout) const {
    require_comm_data<T>();
    T value;
    (void)receive("recv", std::span<T, 1>(&value, 1), true, timeout);
    return value;
  }
  template <BufferLike Buffer>
  [[nodiscard]] std::size_t recv_some(Buffer&& buffer, std::chrono::nanoseconds timeout) const {
    return receive("recv_some", incoming("recv_some", std::forward<Buffer>(buffer)), false, timeout);
  }
  template <BufferLike Buffer>
  [[nodiscard]] std::optional<std::size_t> try_recv(Buffer&& buffer) const {
    return look("try_recv", incoming("try_recv", std::forward<Buffer>(buffer)), false);
  }
  template <class T>
  [[nodiscard]] std::optional<T> try_recv() const {
    require_comm_data<T>();
    T value;
    if (!look("try_recv", std::span<T, 1>(&value, 1), true)) return std::nullopt;
    return value;
  }

  /// Both at once: what goes out on this line and what comes in on another, or on the same.
  template <BufferLike Send, BufferLike Recv>
  void sendrecv(const Send& send, const Line& from, Recv&& recv, std::chrono::nanoseconds timeout) const {
    const auto out = outgoing("sendrecv", send);
    const auto in = incoming("sendrecv", std::forward<Recv>(recv));
    if constexpr (std::is_same_v<std::remove_const_t<typename decltype(out)::element_type>,
                                 typename decltype(in)::element_type>) {
      check_apart(mailbox_->where("sendrecv"), out, in);
    }
    using T = typename decltype(in)::element_type;
    Transfer receiving("sendrecv", from.envelope_, in.data(), in.size_bytes(), sizeof(T), true);
    Transfer sending("sendrecv", envelope_, out.data(), out.size_bytes(), Transfer::OnDrop::GiveUp);
    mailbox_->exchange(sending, receiving, timeout);
    receiving.heard = true;
  }
  template <class T>
  requires(!BufferLike<T>) [[nodiscard]] T
      sendrecv(const T& value, const Line& from, std::chrono::nanoseconds timeout) const {
    require_comm_data<T>();
    T result;
    sendrecv(std::span<const T, 1>(&value, 1), from, std::span<T, 1>(&result, 1), timeout);
    return result;
  }

  template <class Buffer>
  [[nodiscard]] auto outgoing(std::string_view operation, const Buffer& buffer) const {
    return checked_input(mailbox_->where(operation), buffer);
  }
  template <class Buffer>
  [[nodiscard]] auto incoming(std::string_view operation, Buffer&& buffer) const {
    return checked_output(mailbox_->where(operation), std::forward<Buffer>(buffer));
  }

 private:
  template <class T, std::size_t N>
  [[nodiscard]] std::size_t receive(std::string_view operation, std::span<T, N> elements, bool exact,
                                    std::chrono::nanoseconds timeout) const {
    Transfer transfer(operation, envelope_, elements.data(), elements.size_bytes(), sizeof(T), exact);
    mailbox_->run(transfer, timeout);
    transfer.heard = true;
    return transfer.message_bytes / sizeof(T);
  }
  template <class T, std::size_t N>
  [[nodiscard]] std::optional<std::size_t> look(std::string_view operation, std::span<T, N> elements,
                                                bool exact) const {
    Transfer transfer(operation, envelope_, elements.data(), elements.size_bytes(), sizeof(T), exact);
    mailbox_->start(transfer);
    transfer.heard = mailbox_->test(transfer);
    if (!transfer.heard) return std::nullopt;  // takes itself back
    return transfer.message_bytes / sizeof(T);
  }

  Mailbox* mailbox_;
  Envelope envelope_;
};

}  // namespace cobre::comm::detail
