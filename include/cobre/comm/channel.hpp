// Messages between two ranks.
//
// A channel belongs to a pair of ranks and a tag. Both of them open it, neither call is collective, and either may send
// whenever it likes. Messages of one channel arrive in the order in which they were sent; different channels, and the
// plain calls of the communicator, know nothing of each other.
//
// A send returns once the buffer may be used again. It may wait for its peer to come to any call of a channel, but not
// for the very receive: whoever waits in a channel takes in what comes for its other channels too, so ranks that send
// to each other first and receive afterwards do not block each other, except on mpi, where a large message may wait for
// its receive as MPI likes it. `sendrecv`, and `isend` with a receive, never do, anywhere.
#pragma once

#include <cobre/comm/detail/archetypes.hpp>
#include <cobre/comm/detail/line.hpp>
#include <cobre/comm/detail/mail_request.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cobre::comm {

/// One end of a channel. Made by `channel(peer, tag)` of a communicator, which it keeps alive; calls of it are used
/// from one thread at a time, together with those of all channels of its communicator.
template <class Backend>
class BasicChannel {
 public:
  BasicChannel(std::shared_ptr<detail::Mailbox> mailbox, const detail::Envelope& envelope) noexcept
      : mailbox_(std::move(mailbox)), line_(*mailbox_, envelope) {}
  /// Of a backend: the same channel, as the type that holds any.
  template <class Other>
  requires(!std::same_as<Other, Backend>) explicit BasicChannel(BasicChannel<Other> other) noexcept
      : BasicChannel(std::move(other.mailbox_), other.line_.envelope()) {}

  BasicChannel(BasicChannel&&) noexcept = default;
  BasicChannel& operator=(BasicChannel&&) noexcept = default;

  [[nodiscard]] std::size_t rank() const { return live("rank").mailbox().rank(); }
  [[nodiscard]] std::size_t peer_rank() const { return live("peer_rank").envelope().peer; }
  [[nodiscard]] std::int64_t tag() const { return live("tag").envelope().tag; }

  /// Sends the elements of a range, or one value, as one message.
  template <class Data>
  void send(const Data& data, std::chrono::nanoseconds timeout = detail::as_configured) const {
    live("send").send(data, timeout);
  }

  /// Receives one message of exactly this length. One of another length throws InvalidBufferSize and stays the next.
  template <detail::BufferLike Buffer>
  void recv(Buffer&& buffer, std::chrono::nanoseconds timeout = detail::as_configured) const {
    live("recv").recv(std::forward<Buffer>(buffer), timeout);
  }
  template <CommData T>
  [[nodiscard]] T recv(std::chrono::nanoseconds timeout = detail::as_configured) const {
    return live("recv").template recv<T>(timeout);
  }

  /// Receives one message of at most this length; returns how many elements it had.
  template <detail::BufferLike Buffer>
  [[nodiscard]] std::size_t recv_some(Buffer&& buffer, std::chrono::nanoseconds timeout = detail::as_configured) const {
    return live("recv_some").recv_some(std::forward<Buffer>(buffer), timeout);
  }

  /// The same without waiting: nothing where no message has come.
  template <detail::BufferLike Buffer>
  [[nodiscard]] std::optional<std::size_t> try_recv(Buffer&& buffer) const {
    return live("try_recv").try_recv(std::forward<Buffer>(buffer));
  }
  template <CommData T>
  [[nodiscard]] std::optional<T> try_recv() const {
    return live("try_recv").template try_recv<T>();
  }

  /// Sends and receives at once, so that neither of two ranks that do so has to be first.
  template <detail::BufferLike Send, detail::BufferLike Recv>
  void sendrecv(const Send& send, Recv&& recv, std::chrono::nanoseconds timeout = detail::as_configured) const {
    const detail::Line& line = live("sendrecv");
    line.sendrecv(send, line, std::forward<Recv>(recv), timeout);
  }
  /// One value out, one value in.
  template <class T>
  requires(!detail::BufferLike<T>) [[nodiscard]] T
      sendrecv(const T& value, std::chrono::nanoseconds timeout = detail::as_configured) const {
    const detail::Line& line = live("sendrecv");
    return line.sendrecv(value, line, timeout);
  }

  /// Starts sending. A container that is moved in is owned until it is sent and handed back by `get()`; anything else
  /// is borrowed and must live until the request is over.
  template <detail::BufferLike Buffer>
  [[nodiscard]] auto isend(Buffer&& buffer) const {
    return detail::start_mail<detail::Transfer::Direction::Out>(mailbox_, live("isend"), std::forward<Buffer>(buffer));
  }
  /// Of one value, which is copied.
  template <class T>
  requires(!detail::BufferLike<T>) [[nodiscard]] PendingMail<T> isend(const T& value) const {
    return detail::start_mail<detail::Transfer::Direction::Out>(mailbox_, live("isend"), value);
  }
  /// Starts receiving exactly as many elements as the buffer has, borrowed or owned likewise.
  template <detail::BufferLike Buffer>
  [[nodiscard]] auto irecv(Buffer&& buffer) const {
    return detail::start_mail<detail::Transfer::Direction::In>(mailbox_, live("irecv"), std::forward<Buffer>(buffer));
  }
  /// One value, from `get()`.
  template <CommData T>
  [[nodiscard]] PendingMail<T> irecv() const {
    return detail::start_mail<detail::Transfer::Direction::In>(mailbox_, live("irecv"), T{});
  }

 private:
  template <class>
  friend class BasicChannel;

  [[nodiscard]] const detail::Line& live(const char* operation) const {
    if (mailbox_ == nullptr) [[unlikely]]
      detail::throw_channel_moved_from(operation);
    return line_;
  }

  std::shared_ptr<detail::Mailbox> mailbox_;  // null once moved from
  detail::Line line_;
};

namespace detail {

/// The point-to-point calls of every backend, written once. A backend has
///   Mailbox& mailbox(const char* operation)
///   std::shared_ptr<Mailbox> share_mailbox(const char* operation)
/// of which both throw InvalidCommunicator in `operation` once it was moved from.
template <class Backend>
class PointToPointCalls {
 public:
  /// One end of the channel between this rank and `peer` under `tag`. Not collective: the peer opens its own end.
  [[nodiscard]] BasicChannel<Backend> channel(std::size_t peer, std::int64_t tag) const {
    const Envelope envelope{peer, tag, Realm::Channel};
    std::shared_ptr<Mailbox> mailbox = backend().share_mailbox("channel");
    check_envelope("channel", *mailbox, envelope);
    return BasicChannel<Backend>(std::move(mailbox), envelope);
  }
  /// The largest tag that this backend can carry.
  [[nodiscard]] std::int64_t largest_tag() const { return backend().mailbox("largest_tag").largest_tag(); }

  /// Sends the elements of a range, or one value, to a rank.
  template <class Data>
  void send(const Data& data, std::size_t destination, std::int64_t tag = 0) const {
    line("send", destination, tag).send(data, as_configured);
  }
  /// Receives a message of exactly this length from a rank. One of another length throws and stays the next.
  template <BufferLike Buffer>
  void recv(Buffer&& buffer, std::size_t source, std::int64_t tag = 0) const {
    line("recv", source, tag).recv(std::forward<Buffer>(buffer), as_configured);
  }
  template <CommData T>
  [[nodiscard]] T recv(std::size_t source, std::int64_t tag = 0) const {
    return line("recv", source, tag).template recv<T>(as_configured);
  }
  /// Sends to one rank and receives from another, or the same, at once.
  template <BufferLike Send, BufferLike Recv>
  void sendrecv(const Send& send, std::size_t destination, Recv&& recv, std::size_t source,
                std::int64_t tag = 0) const {
    line("sendrecv", destination, tag)
        .sendrecv(send, line("sendrecv", source, tag), std::forward<Recv>(recv), as_configured);
  }
  /// One value out, one value in.
  template <class T>
  requires(!BufferLike<T>) [[nodiscard]] T
      sendrecv(const T& value, std::size_t destination, std::size_t source, std::int64_t tag = 0) const {
    return line("sendrecv", destination, tag).sendrecv(value, line("sendrecv", source, tag), as_configured);
  }

 protected:
  ~PointToPointCalls() = default;
  PointToPointCalls() = default;
  PointToPointCalls(PointToPointCalls&&) = default;
  PointToPointCalls& operator=(PointToPointCalls&&) = default;

 private:
  [[nodiscard]] const Backend& backend() const noexcept { return static_cast<const Backend&>(*this); }
  [[nodiscard]] Line line(const char* operation, std::size_t peer, std::int64_t tag) const {
    const Envelope envelope{peer, tag, Realm::Plain};
    Mailbox& mailbox = backend().mailbox(operation);
    check_envelope(operation, mailbox, envelope);
    return Line(mailbox, envelope);
  }
};

template <class C, class T>
concept CarriesMessagesOf = requires(const C& channel, std::span<T> buffer, std::span<const T> input, const T& value,
                                     std::vector<T>&& owned, std::chrono::nanoseconds timeout) {
  { channel.send(input) } -> std::same_as<void>;
  { channel.send(value) } -> std::same_as<void>;
  { channel.send(input, timeout) } -> std::same_as<void>;
  { channel.send(value, timeout) } -> std::same_as<void>;
  { channel.recv(buffer) } -> std::same_as<void>;
  { channel.recv(buffer, timeout) } -> std::same_as<void>;
  { channel.template recv<T>() } -> std::same_as<T>;
  { channel.template recv<T>(timeout) } -> std::same_as<T>;
  { channel.recv_some(buffer) } -> std::same_as<std::size_t>;
  { channel.recv_some(buffer, timeout) } -> std::same_as<std::size_t>;
  { channel.try_recv(buffer) } -> std::same_as<std::optional<std::size_t>>;
  { channel.template try_recv<T>() } -> std::same_as<std::optional<T>>;
  { channel.sendrecv(input, buffer) } -> std::same_as<void>;
  { channel.sendrecv(input, buffer, timeout) } -> std::same_as<void>;
  { channel.sendrecv(value) } -> std::same_as<T>;
  { channel.sendrecv(value, timeout) } -> std::same_as<T>;
  { channel.isend(input) } -> std::same_as<MailRequest>;
  { channel.isend(value) } -> std::same_as<PendingMail<T>>;
  { channel.irecv(buffer) } -> std::same_as<MailRequest>;
  { channel.template irecv<T>() } -> std::same_as<PendingMail<T>>;
  { channel.irecv(std::move(owned)) } -> std::same_as<PendingMail<std::vector<T>>>;
};

template <class C, class T>
concept SendsAndReceives = requires(const C& comm, std::span<T> buffer, std::span<const T> input, const T& value,
                                    std::size_t peer, std::int64_t tag) {
  { comm.send(input, peer, tag) } -> std::same_as<void>;
  { comm.send(value, peer) } -> std::same_as<void>;
  { comm.recv(buffer, peer, tag) } -> std::same_as<void>;
  { comm.template recv<T>(peer, tag) } -> std::same_as<T>;
  { comm.sendrecv(input, peer, buffer, peer, tag) } -> std::same_as<void>;
  { comm.sendrecv(value, peer, peer, tag) } -> std::same_as<T>;
};

}  // namespace detail

/// One end of a conversation between two ranks.
template <class C>
concept Channel = std::move_constructible<C> && requires(const C& channel) {
  { channel.rank() } -> std::same_as<std::size_t>;
  { channel.peer_rank() } -> std::same_as<std::size_t>;
  { channel.tag() } -> std::same_as<std::int64_t>;
} && detail::CarriesMessagesOf<C, double> && detail::CarriesMessagesOf<C, std::int32_t> &&
    detail::CarriesMessagesOf<C, detail::StructArchetype>;

/// The communicator opens channels between any two of its ranks.
template <class C>
concept ChannelProvider = requires(const C& comm, std::size_t peer, std::int64_t tag) {
  { comm.channel(peer, tag) } -> Channel;
  { comm.largest_tag() } -> std::same_as<std::int64_t>;
};

/// The plain case, without a channel.
template <class C>
concept PointToPoint = detail::SendsAndReceives<C, double> && detail::SendsAndReceives<C, std::int32_t> &&
    detail::SendsAndReceives<C, detail::StructArchetype>;

}  // namespace cobre::comm
