// Messages between two ranks.
#pragma once

#include <ferrompi/detail/buffers.hpp>
#include <ferrompi/detail/checks.hpp>
#include <ferrompi/detail/engine.hpp>
#include <ferrompi/status.hpp>

#include <optional>
#include <span>

namespace ferrompi::detail {

/// A buffer and whom it goes to or comes from.
struct MessageArgs {
  void* buffer;
  std::size_t count;
  MPI_Datatype type;
  int peer;
  int tag;
  MPI_Comm comm;
  MPI_Datatype element = type;  // stays what it is when `type` comes to describe many elements
};

inline void shrink_count(std::size_t& count, MPI_Datatype& type, Hold& hold) {
  if (!exceeds_int(count)) return;
  type = hold.types.emplace_back(make_contiguous_type(type, count));
  count = 1;
}

inline namespace FERROMPI_VARIANT {

struct MessageOperation {
  using Args = MessageArgs;
  static constexpr bool takes_info = false;
  static constexpr bool persistent_is_right = true;
  static constexpr OnDrop on_drop = OnDrop::Complete;
  static constexpr unsigned buffers = 0b1;
  static constexpr std::size_t one_buffer_arity = 3;

  template <class T>
  static void adjust(Nonblocking&, const Group&, T&) {}
  static MPI_Datatype element(const Args& args) { return args.element; }

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    return function(args.buffer, static_cast<Count>(args.count), args.type, args.peer, args.tag, args.comm, tail...);
  }
  static constexpr bool counts_are_large(const Args& args) { return exceeds_int(args.count); }
  static constexpr bool must_shrink(const Args& args) { return !has_large_counts && counts_are_large(args); }
  static void shrink(Args& args, Hold& hold) { shrink_count(args.count, args.type, hold); }
};

/// `Self` adds the MPI functions: there are several ways to send.
template <class Self>
struct SendOperation : MessageOperation {
  template <class Form, BufferLike S>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, S&& send, int destination, int tag) {
    const MPI_Comm comm = group.native;
    const auto from = input(send);
    const Checks checks(form.operation, group);
    checks.destination(destination);
    checks.send_tag(tag);
    return launch<Self>(form, Args{const_cast<element_t<S>*>(from.data()), from.size(), datatype_of<element_t<S>>(),
                                   destination, tag, comm});
  }

  template <Value T>
  FERROMPI_INLINE static void run(const Blocking& form, const Group& group, const T& value, int destination, int tag) {
    run(form, group, std::span<const T, 1>(&value, 1), destination, tag);
  }
};

struct Send : SendOperation<Send> {
  FERROMPI_MESSAGE_ENTRY_POINTS(Send, Isend, Send_init);
};

struct Ssend : SendOperation<Ssend> {
  FERROMPI_MESSAGE_ENTRY_POINTS(Ssend, Issend, Ssend_init);
};

struct Recv : MessageOperation {
  FERROMPI_MESSAGE_ENTRY_POINTS(Recv, Irecv, Recv_init);
  static constexpr OnDrop on_drop = OnDrop::Cancel;
  // A variable to receive into is borrowed, never copied.
  static constexpr std::size_t one_buffer_arity = 0;

  template <class Form, class R>
  FERROMPI_INLINE static auto run(Form&& form, const Group& group, R&& recv, int source, int tag) {
    if constexpr (Value<R>) {
      static_assert(std::is_lvalue_reference_v<R> && !std::is_const_v<std::remove_reference_t<R>>,
                    "receive into a variable or a buffer; recv<T>(source, tag) returns the value instead");
      return receive(form, group, std::span<std::remove_reference_t<R>>(&recv, 1), source, tag);
    } else {
      return receive(form, group, output(std::forward<R>(recv)), source, tag);
    }
  }

 private:
  template <class Form, class T>
  FERROMPI_INLINE static auto receive(Form& form, const Group& group, std::span<T> to, int source, int tag) {
    const Checks checks(form.operation, group);
    checks.source(source);
    checks.receive_tag(tag);
    const auto type = datatype_of<T>();
    const Args args{to.data(), to.size(), type, source, tag, group.native};
    if constexpr (is_blocking<Form>) {
      MPI_Status status;
      launch<Recv>(form, args, &status);
      return Status(status, type);
    } else {
      return launch<Recv>(form, args);
    }
  }
};

struct SendrecvArgs {
  MessageArgs send;
  MessageArgs recv;
};

/// Sends one message and receives another, in whatever order they go through.
struct Sendrecv {
  using Args = SendrecvArgs;
  FERROMPI_BLOCKING_ENTRY_POINTS(Sendrecv);

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    const auto& [send, recv] = args;
    return function(send.buffer, static_cast<Count>(send.count), send.type, send.peer, send.tag, recv.buffer,
                    static_cast<Count>(recv.count), recv.type, recv.peer, recv.tag, recv.comm, tail...);
  }
  static constexpr bool counts_are_large(const Args& args) {
    return exceeds_int(args.send.count) || exceeds_int(args.recv.count);
  }
  static constexpr bool must_shrink(const Args& args) { return !has_large_counts && counts_are_large(args); }
  static void shrink(Args& args, Hold& hold) {
    shrink_count(args.send.count, args.send.type, hold);
    shrink_count(args.recv.count, args.recv.type, hold);
  }

  template <BufferLike S, BufferLike R>
  FERROMPI_INLINE static Status run(const Blocking& form, const Group& group, S&& send, int destination, int send_tag,
                                    R&& recv, int source, int receive_tag) {
    const MPI_Comm comm = group.native;  // read first: see `launch`
    const auto from = input(send);
    const auto to = output(std::forward<R>(recv));
    const Checks checks(form.operation, group);
    checks.destination(destination);
    checks.send_tag(send_tag);
    checks.source(source);
    checks.receive_tag(receive_tag);
    if constexpr (std::is_same_v<element_t<S>, element_t<R>>) checks.apart(from, to);
    const auto type = datatype_of<element_t<R>>();
    const Args args{
        {const_cast<element_t<S>*>(from.data()), from.size(), datatype_of<element_t<S>>(), destination, send_tag, comm},
        {to.data(), to.size(), type, source, receive_tag, comm}};
    MPI_Status status;
    launch<Sendrecv>(form, args, &status);
    return Status(status, type);
  }

  /// One value out, one value in.
  template <Value T>
  FERROMPI_INLINE static T run(const Blocking& form, const Group& group, const T& value, int destination, int send_tag,
                               int source, int receive_tag) {
    T result{};
    (void)run(form, group, std::span<const T, 1>(&value, 1), destination, send_tag, std::span<T, 1>(&result, 1), source,
              receive_tag);
    return result;
  }
};

/// What is received takes the place of what was sent.
struct SendrecvReplace {
  using Args = SendrecvArgs;
  FERROMPI_BLOCKING_ENTRY_POINTS(Sendrecv_replace);

  template <class Count, class F, class... Tail>
  FERROMPI_INLINE static int invoke(F function, const Args& args, Tail... tail) {
    const auto& [send, recv] = args;
    return function(recv.buffer, static_cast<Count>(recv.count), recv.type, send.peer, send.tag, recv.peer, recv.tag,
                    recv.comm, tail...);
  }
  static constexpr bool counts_are_large(const Args& args) { return exceeds_int(args.recv.count); }
  static constexpr bool must_shrink(const Args& args) { return !has_large_counts && counts_are_large(args); }
  static void shrink(Args& args, Hold& hold) { shrink_count(args.recv.count, args.recv.type, hold); }

  template <class B>
  FERROMPI_INLINE static Status run(const Blocking& form, const Group& group, B&& buffer, int destination, int send_tag,
                                    int source, int receive_tag) {
    const MPI_Comm comm = group.native;
    const auto elements = output(as_buffer(std::forward<B>(buffer)));
    const Checks checks(form.operation, group);
    checks.destination(destination);
    checks.send_tag(send_tag);
    checks.source(source);
    checks.receive_tag(receive_tag);
    const auto type = datatype_of<element_t<decltype(elements)>>();
    const Args args{{elements.data(), elements.size(), type, destination, send_tag, comm},
                    {elements.data(), elements.size(), type, source, receive_tag, comm}};
    MPI_Status status;
    launch<SendrecvReplace>(form, args, &status);
    return Status(status, type);
  }
};

/// The next message that would be received, without receiving it.
template <class T>
Status probe(const Group& group, int source, int tag) {
  const Checks checks("probe", group);
  checks.source(source);
  checks.receive_tag(tag);
  const CallGuard guard("probe");
  MPI_Status status;
  check(MPI_Probe(source, tag, group.native, &status), "probe");
  return Status(status, datatype_of<T>());
}

template <class T>
std::optional<Status> iprobe(const Group& group, int source, int tag) {
  const Checks checks("iprobe", group);
  checks.source(source);
  checks.receive_tag(tag);
  const CallGuard guard("iprobe");
  MPI_Status status;
  int found = 0;
  check(MPI_Iprobe(source, tag, group.native, &found, &status), "iprobe");
  if (found == 0) return std::nullopt;
  return Status(status, datatype_of<T>());
}

}  // namespace FERROMPI_VARIANT
}  // namespace ferrompi::detail
