// A group of processes that talk to each other, and everything that they can say.
#pragma once

#include <ferrompi/collectives/barrier.hpp>
#include <ferrompi/collectives/block.hpp>
#include <ferrompi/collectives/broadcast.hpp>
#include <ferrompi/collectives/gathered.hpp>
#include <ferrompi/collectives/reduce.hpp>
#include <ferrompi/collectives/reduce_scatter.hpp>
#include <ferrompi/collectives/vector.hpp>
#include <ferrompi/detail/ownership.hpp>
#include <ferrompi/error.hpp>
#include <ferrompi/info.hpp>
#include <ferrompi/message.hpp>
#include <ferrompi/op.hpp>
#include <ferrompi/p2p.hpp>
#include <ferrompi/split_type.hpp>

#include <optional>
#include <string>
#include <utility>

namespace ferrompi {

class TopologyInfo;

// The forms of a collective operation `x`, all with the same arguments in the same order:
//
//   x(...)        returns when this rank's part is done
//   ix(...)       returns a Request; a container that is moved in makes it a Pending, which owns it
//   x_init(...)   returns a PersistentRequest that borrows its buffers; an Info may follow the arguments
//
// and of each the one that ends in `_inplace`, with one buffer instead of send and recv. Persistent forms and those in
// place take a variable for a buffer of one element.
#define FERROMPI_OUT_OF_PLACE_FORMS(name, Op)                                                               \
  template <class... A>                                                                                     \
  [[nodiscard]] FERROMPI_INLINE auto name(A&&... args) const {                                              \
    detail::require_packed(#name, group_, args...);                                                         \
    return detail::Op::run(detail::Blocking{#name}, group_, std::forward<A>(args)...);                      \
  }                                                                                                         \
  template <class... A>                                                                                     \
  [[nodiscard]] auto i##name(A&&... args) const {                                                           \
    detail::require_packed("i" #name, group_, args...);                                                     \
    return detail::start_any<detail::Op>(detail::Nonblocking{"i" #name}, group_, std::forward<A>(args)...); \
  }                                                                                                         \
  template <class... A>                                                                                     \
  [[nodiscard]] auto name##_init(A&&... args) const {                                                       \
    detail::require_packed(#name "_init", group_, args...);                                                 \
    return detail::plan_with_info<detail::Op, false>(detail::Persistent{#name "_init"}, group_,             \
                                                     std::forward<A>(args)...);                             \
  }
#define FERROMPI_ALL_FORMS(name, Op)                                                                       \
  FERROMPI_OUT_OF_PLACE_FORMS(name, Op)                                                                    \
  template <class... A>                                                                                    \
  FERROMPI_INLINE void name##_inplace(A&&... args) const {                                                 \
    detail::require_packed(#name "_inplace", group_, args...);                                             \
    detail::run_inplace<detail::Op>(detail::Blocking{#name "_inplace"}, group_, std::forward<A>(args)...); \
  }                                                                                                        \
  template <class... A>                                                                                    \
  [[nodiscard]] auto i##name##_inplace(A&&... args) const {                                                \
    detail::require_packed("i" #name "_inplace", group_, args...);                                         \
    return detail::start_inplace<detail::Op>(detail::Nonblocking{"i" #name "_inplace"}, group_,            \
                                             std::forward<A>(args)...);                                    \
  }                                                                                                        \
  template <class... A>                                                                                    \
  [[nodiscard]] auto name##_init_inplace(A&&... args) const {                                              \
    detail::require_packed(#name "_init_inplace", group_, args...);                                        \
    return detail::plan_with_info<detail::Op, true>(detail::Persistent{#name "_init_inplace"}, group_,     \
                                                    std::forward<A>(args)...);                             \
  }

/// Move-only, because copying one is a collective operation: that is spelled `duplicate()`. A moved-from communicator
/// refuses every operation with ErrorClass::Comm. At ThreadLevel::Multiple one communicator may be used by several
/// threads, as far as MPI allows: collective operations of all ranks in one order.
class [[nodiscard]] Communicator {
 public:
  /// Takes over a communicator that the caller made: sets MPI_ERRORS_RETURN on it and frees it in the destructor.
  static Communicator adopt(MPI_Comm comm);
  /// A view of a communicator that somebody else owns. Nothing about it is changed: errors come as exceptions only
  /// if its error handler is MPI_ERRORS_RETURN.
  static Communicator borrow(MPI_Comm comm);

  Communicator(Communicator&& other) noexcept
      : group_(std::exchange(other.group_, {})), owned_(std::exchange(other.owned_, false)) {}
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator();

  [[nodiscard]] int rank() const noexcept { return group_.rank; }
  [[nodiscard]] int size() const noexcept { return group_.size; }
  [[nodiscard]] MPI_Comm native() const noexcept { return group_.native; }

  /// Collective. The same processes, and messages that never meet those of the original.
  [[nodiscard]] Communicator duplicate() const;
  [[nodiscard]] Communicator duplicate(const Info& info) const;
  /// Collective. One communicator for each colour, its ranks ordered by key; none for `undefined`.
  [[nodiscard]] std::optional<Communicator> split(int color, int key = 0) const;
  /// Collective. One communicator for each part of the machine; `undefined` as the type joins none.
  [[nodiscard]] std::optional<Communicator> split_type(SplitType type, int key = 0) const;
  [[nodiscard]] std::optional<Communicator> split_type(SplitType type, int key, const Info& info) const;
  /// Collective. The processes that can share memory with this one, in rank order.
  [[nodiscard]] Communicator split_shared() const;
  [[nodiscard]] Communicator split_shared(const Info& info) const;

  [[nodiscard]] std::string name() const;
  void set_name(const std::string& name) const;
  /// The hints that the MPI library has taken, which may be fewer or more than were given.
  [[nodiscard]] Info info() const;
  /// Collective. Gives hints to the MPI library, which may leave out any; a null Info is refused.
  void set_info(const Info& info) const;
  /// The name of the machine that this rank runs on.
  [[nodiscard]] std::string processor_name() const;
  /// Collective. Who runs where, on which MPI, in which Slurm job; include <ferrompi/topology.hpp> to use it.
  [[nodiscard]] TopologyInfo topology() const;
  /// Ends every process of the communicator with this exit code.
  [[noreturn]] void abort(int code) const;

  // ---- Collective operations: every rank of the communicator calls them, in the same order ----------------------

  /// barrier(): returns when every rank has called it.
  FERROMPI_INLINE void barrier() const { detail::Barrier::run(detail::Blocking{"barrier"}, group_); }
  [[nodiscard]] Request ibarrier() const { return detail::Barrier::run(detail::Nonblocking{"ibarrier"}, group_); }
  [[nodiscard]] PersistentRequest barrier_init(const Info& info = Info::null()) const {
    return detail::Barrier::run(detail::Persistent{"barrier_init", info.native()}, group_);
  }

  /// broadcast(buffer, root): every rank gets the root's elements. broadcast(value, root) -> T
  FERROMPI_OUT_OF_PLACE_FORMS(broadcast, Broadcast)

  /// reduce(send, recv, op, root): the root gets the reduction over all ranks; elsewhere recv is ignored.
  /// reduce(value, op, root) -> T, which is the result on the root and the own value elsewhere; and so a container that
  /// is moved in, reduce(std::move(values), op, root).
  FERROMPI_ALL_FORMS(reduce, Reduce)

  /// allreduce(send, recv, op): every rank gets the reduction over all ranks. allreduce(value, op) -> T;
  /// allreduce(std::move(values), op) -> the same container.
  FERROMPI_ALL_FORMS(allreduce, Allreduce)

  /// scan(send, recv, op): rank r gets the reduction over ranks 0 to r. scan(value, op) -> T
  FERROMPI_ALL_FORMS(scan, Scan)

  /// exscan(send, recv, op): rank r gets the reduction over ranks 0 to r-1; on rank 0 recv is left as it was.
  /// exscan(value, op) -> T, which is T{} on rank 0. A container that is moved in, exscan(std::move(values), op), comes
  /// back from rank 0 as it was, as in place.
  FERROMPI_ALL_FORMS(exscan, Exscan)

  /// reduce_scatter_block(send, recv, op): rank r gets block r of the reduction; send holds size() blocks.
  /// reduce_scatter_block(send, op) -> T, where send holds one value for every rank.
  FERROMPI_ALL_FORMS(reduce_scatter_block, ReduceScatterBlock)

  /// reduce_scatter(send, recv, counts, op): rank r gets its counts[r] elements of the reduction.
  FERROMPI_ALL_FORMS(reduce_scatter, ReduceScatter)

  /// gather(send, recv, root): the root gets the blocks of all ranks; elsewhere recv is ignored.
  /// gather(value, root) -> std::vector<T>, empty off the root. In place: the root passes all blocks, the others
  /// theirs.
  FERROMPI_ALL_FORMS(gather, Gather)

  /// allgather(send, recv): every rank gets the blocks of all ranks. allgather(value) -> std::vector<T>
  FERROMPI_ALL_FORMS(allgather, Allgather)

  /// scatter(send, recv, root): rank r gets block r of the root's send, which is ignored elsewhere.
  /// scatter(send, root) -> T, where the root's send holds one value for every rank.
  FERROMPI_ALL_FORMS(scatter, Scatter)

  /// alltoall(send, recv): block j of rank i becomes block i of rank j. alltoall(send) -> std::vector<T>
  FERROMPI_ALL_FORMS(alltoall, Alltoall)

  /// gatherv(send, recv, counts, displs, root): like gather, with parts of any length.
  /// gatherv(local, root) -> Gathered<T>, empty off the root.
  FERROMPI_ALL_FORMS(gatherv, Gatherv)

  /// scatterv(send, counts, displs, recv, root): like scatter, with parts of any length.
  /// scatterv(send, counts, root) -> std::vector<T>
  FERROMPI_ALL_FORMS(scatterv, Scatterv)

  /// allgatherv(send, recv, counts, displs): like allgather, with parts of any length.
  /// allgatherv(local) -> Gathered<T>
  FERROMPI_ALL_FORMS(allgatherv, Allgatherv)

  /// alltoallv(send, sendcounts, sdispls, recv, recvcounts, rdispls): like alltoall, with parts of any length.
  /// alltoallv(send, counts) -> Gathered<T>. In place: (buffer, counts, displs).
  FERROMPI_ALL_FORMS(alltoallv, Alltoallv)

  // ---- Messages --------------------------------------------------------------------------------------------------

  /// send(buffer or value, destination, tag). Returns when the buffer may be used again.
  template <class S>
  FERROMPI_INLINE void send(S&& buffer, int destination, int tag) const {
    detail::require_packed("send", group_, buffer);
    detail::Send::run(detail::Blocking{"send"}, group_, std::forward<S>(buffer), destination, tag);
  }
  /// The same, and returns only when the other side has begun to receive.
  template <class S>
  FERROMPI_INLINE void ssend(S&& buffer, int destination, int tag) const {
    detail::require_packed("ssend", group_, buffer);
    detail::Ssend::run(detail::Blocking{"ssend"}, group_, std::forward<S>(buffer), destination, tag);
  }
  /// A Request that borrows the buffer, or a Pending that owns what was moved in, or a copy of a value.
  template <class S>
  [[nodiscard]] auto isend(S&& buffer, int destination, int tag) const {
    detail::require_packed("isend", group_, buffer);
    return detail::start_any<detail::Send>(detail::Nonblocking{"isend"}, group_, std::forward<S>(buffer), destination,
                                           tag);
  }
  template <class S>
  [[nodiscard]] auto issend(S&& buffer, int destination, int tag) const {
    detail::require_packed("issend", group_, buffer);
    return detail::start_any<detail::Ssend>(detail::Nonblocking{"issend"}, group_, std::forward<S>(buffer), destination,
                                            tag);
  }
  template <class S>
  [[nodiscard]] PersistentRequest send_init(S&& buffer, int destination, int tag) const {
    detail::require_packed("send_init", group_, buffer);
    return detail::plan<detail::Send, false>(detail::Persistent{"send_init"}, group_, std::forward<S>(buffer),
                                             destination, tag);
  }
  template <class S>
  [[nodiscard]] PersistentRequest ssend_init(S&& buffer, int destination, int tag) const {
    detail::require_packed("ssend_init", group_, buffer);
    return detail::plan<detail::Ssend, false>(detail::Persistent{"ssend_init"}, group_, std::forward<S>(buffer),
                                              destination, tag);
  }

  /// recv(buffer or variable, source, tag): the message may be shorter than the buffer; a longer one is an error.
  template <class R>
  FERROMPI_INLINE Status recv(R&& buffer, int source, int tag) const {
    detail::require_packed("recv", group_, buffer);
    return detail::Recv::run(detail::Blocking{"recv"}, group_, std::forward<R>(buffer), source, tag);
  }
  /// One value.
  template <class T>
  [[nodiscard]] FERROMPI_INLINE T recv(int source, int tag) const {
    T value{};
    recv(value, source, tag);
    return value;
  }
  template <class R>
  [[nodiscard]] auto irecv(R&& buffer, int source, int tag) const {
    detail::require_packed("irecv", group_, buffer);
    return detail::start_any<detail::Recv>(detail::Nonblocking{"irecv"}, group_, std::forward<R>(buffer), source, tag);
  }
  /// One value, from `get()`.
  template <class T>
  [[nodiscard]] Pending<T> irecv(int source, int tag) const {
    detail::Nonblocking form{"irecv"};
    auto& held = detail::hold_in<detail::Held<T>>(form, std::in_place);
    return Pending<T>(detail::Recv::run(form, group_, held.value, source, tag), held);
  }
  template <class R>
  [[nodiscard]] PersistentRequest recv_init(R&& buffer, int source, int tag) const {
    detail::require_packed("recv_init", group_, buffer);
    return detail::plan<detail::Recv, false>(detail::Persistent{"recv_init"}, group_, std::forward<R>(buffer), source,
                                             tag);
  }

  /// sendrecv(send, destination, sendtag, recv, source, recvtag) -> Status;
  /// sendrecv(value, destination, sendtag, source, recvtag) -> T
  template <class... A>
  FERROMPI_INLINE auto sendrecv(A&&... args) const {
    detail::require_packed("sendrecv", group_, args...);
    return detail::Sendrecv::run(detail::Blocking{"sendrecv"}, group_, std::forward<A>(args)...);
  }
  /// sendrecv_replace(buffer or variable, destination, sendtag, source, recvtag): what comes takes the place of what
  /// was sent.
  template <class B>
  FERROMPI_INLINE Status sendrecv_replace(B&& buffer, int destination, int sendtag, int source, int recvtag) const {
    detail::require_packed("sendrecv_replace", group_, buffer);
    return detail::SendrecvReplace::run(detail::Blocking{"sendrecv_replace"}, group_, std::forward<B>(buffer),
                                        destination, sendtag, source, recvtag);
  }

  /// Waits for a message and leaves it where it is; `count()` of the status is in elements of `T`.
  template <class T = std::byte>
  [[nodiscard]] Status probe(int source, int tag) const {
    return detail::probe<T>(group_, source, tag);
  }
  template <class T = std::byte>
  [[nodiscard]] std::optional<Status> iprobe(int source, int tag) const {
    return detail::iprobe<T>(group_, source, tag);
  }
  /// Waits for a message and takes it: no other thread or wildcard can receive it any more.
  [[nodiscard]] FERROMPI_INLINE Message mprobe(int source, int tag) const {
    const detail::Checks checks("mprobe", group_);
    checks.source(source);
    checks.receive_tag(tag);
    const detail::CallGuard guard("mprobe");
    return Message(group_.native, source, tag);
  }
  /// The same if there is one, without waiting.
  [[nodiscard]] FERROMPI_INLINE std::optional<Message> improbe(int source, int tag) const {
    const detail::Checks checks("improbe", group_);
    checks.source(source);
    checks.receive_tag(tag);
    const detail::CallGuard guard("improbe");
    return Message::find(group_.native, source, tag);
  }

 private:
  friend class Mpi;

  Communicator(MPI_Comm native, bool owned, const char* operation);
  // `operation` is the name of the method that was called.
  [[nodiscard]] static Communicator view(MPI_Comm native, const char* operation);
  [[nodiscard]] static Communicator own(MPI_Comm native, const char* operation);
  [[nodiscard]] std::optional<Communicator> part(SplitType type, int key, const Info& info,
                                                 const char* operation) const;
  void release() noexcept;

  detail::Group group_;
  bool owned_;
  detail::UnwindingDetector unwinding_;
};

#undef FERROMPI_OUT_OF_PLACE_FORMS
#undef FERROMPI_ALL_FORMS

}  // namespace ferrompi
