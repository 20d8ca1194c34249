// The collective interface of every backend, written once: types are checked, ranges become bytes and a tag, arguments
// pass the one checker, and the call goes through one gate to the backend's compiled code.
//
// A backend derives from Collectives<Backend>, has rank() and size(), and implements
//   execute(const OperationRecord&, const BarrierCall&)      … and every other call of <cobre/comm/detail/calls.hpp>
// with the arguments already checked. One that compares records only now and then says `hashes_counts = false`, and
// makes the hash of an allgatherv's counts itself where it needs one.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <cobre/comm/detail/arguments.hpp>
#include <cobre/comm/detail/calls.hpp>
#include <cobre/comm/detail/composed.hpp>
#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/detail/preconditions.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace cobre::comm::detail {

template <class Backend>
class Collectives : public ComposedOperations<Backend> {
  using OperationBase<Backend>::self;
  using OperationBase<Backend>::here;

 public:
  /// Collective. Returns once every rank has entered.
  void barrier() const { conduct(OperationRecord{.operation = Operation::Barrier}, BarrierCall{}); }

  /// Collective. Gives every rank the elements that `buffer` holds on `root`. All ranks pass the same length.
  template <BufferLike Buffer>
  void broadcast(Buffer&& buffer, std::size_t root) const {
    const auto elements = checked_output(here("broadcast"), std::forward<Buffer>(buffer));
    check_root(here("broadcast"), root);
    broadcast_elements(elements, root);
  }

  /// Collective. Returns what `root` passed; the argument of the other ranks does not matter.
  template <class T>
  requires(!BufferLike<T>) [[nodiscard]] T broadcast(const T& value, std::size_t root) const {
    require_comm_data<T>();
    check_root(here("broadcast"), root);
    T result = value;
    broadcast_elements(std::span<T, 1>(&result, 1), root);
    return result;
  }

  /// Collective. Element by element, combines `send` over all ranks into `recv` on every rank.
  /// `op` is a ReduceOp or an associative callable T x T -> T. `send` and `recv` do not overlap.
  // It is inline already, but clang takes the word for a hint, without which this stays a call.
  template <BufferLike Send, BufferLike Recv, class Op>
  inline void allreduce(Send&& send, Recv&& recv, Op&& op, Reproducible reproducible = Reproducible::Default) const {
    static_assert(lengths_may_agree<Send, Recv>, "allreduce: send and recv have different lengths");
    const Where where = here("allreduce");
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv));
    require_same_elements(in, out);
    check_same_length(where, in.size(), out.size());
    check_apart(where, in, out);
    allreduce_elements(where, in.data(), out, op, reproducible);
  }

  /// Collective. The same on one value of each rank.
  template <class T, class Op>
  requires(!BufferLike<T>) [[nodiscard]] T
      allreduce(const T& value, Op&& op, Reproducible reproducible = Reproducible::Default) const {
    require_comm_data<T>();
    T result{};
    allreduce_elements(here("allreduce"), &value, std::span<T, 1>(&result, 1), op, reproducible);
    return result;
  }

  /// Collective. As allreduce, with the result in the place of the argument.
  template <BufferLike Buffer, class Op>
  void allreduce_inplace(Buffer&& buffer, Op&& op, Reproducible reproducible = Reproducible::Default) const {
    const auto elements = checked_output(here("allreduce_inplace"), std::forward<Buffer>(buffer));
    allreduce_elements(here("allreduce_inplace"), elements.data(), elements, op, reproducible);
  }

  /// Collective. Rank r's `send` appears at `recv[displs[r]…]` on every rank; what lies between is left alone.
  /// Counts and displacements are in elements; `send` has counts[rank()] of them and does not overlap `recv`.
  template <BufferLike Send, BufferLike Recv>
  void allgatherv(Send&& send, Recv&& recv, std::span<const std::size_t> counts,
                  std::span<const std::size_t> displs) const {
    const Where where = here("allgatherv");
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv));
    require_same_elements(in, out);
    check_gathered_segments(where, in.size(), out.size(), counts, displs);
    check_apart(where, in, out);
    gather_elements(in.data(), out, counts, displs, false);
  }

  /// Collective. The same where `buffer` is what is gathered into, and holds this rank's own part already.
  template <BufferLike Buffer>
  void allgatherv_inplace(Buffer&& buffer, std::span<const std::size_t> counts,
                          std::span<const std::size_t> displs) const {
    const Where where = here("allgatherv_inplace");
    const auto out = checked_output(where, std::forward<Buffer>(buffer));
    check_gathered_segments(where, own_count(counts), out.size(), counts, displs);
    const std::size_t begin = counts[where.rank] == 0 ? 0 : displs[where.rank];
    gather_elements(out.data() + begin, out, counts, displs, true);
  }

  using ComposedOperations<Backend>::allgatherv;

  /// The gate: every collective of every backend passes here, its arguments checked. What watches operations hooks in
  /// at this level (see <cobre/comm/observed.hpp>) and costs nothing where it is not used.
  template <class Call>
  void conduct(const OperationRecord& record, const Call& call) const {
    self().execute(record, call);
  }

 protected:
  ~Collectives() = default;
  Collectives() = default;
  Collectives(Collectives&&) = default;
  Collectives& operator=(Collectives&&) = default;

 private:
  template <class T, std::size_t N>
  void broadcast_elements(std::span<T, N> elements, std::size_t root) const {
    const OperationRecord record{.operation = Operation::Broadcast,
                                 .type = element_type_v<T>,
                                 .element_size = sizeof(T),
                                 .count = elements.size(),
                                 .root = root};
    conduct(record, BroadcastCall{elements.data(), elements.size_bytes(), root, sizeof(T)});
  }

  // Of arguments that are not checked yet.
  [[nodiscard]] std::size_t own_count(std::span<const std::size_t> counts) const noexcept {
    return self().rank() < counts.size() ? counts[self().rank()] : 0;
  }

  [[nodiscard]] static std::uint64_t hash_unless_spared(std::span<const std::size_t> counts) noexcept {
    if constexpr (requires { requires !Backend::hashes_counts; }) return 0;
    return hash_counts(counts);
  }

  template <class T>
  void gather_elements(const T* send, std::span<T> recv, std::span<const std::size_t> counts,
                       std::span<const std::size_t> displs, bool in_place) const {
    const OperationRecord record{.operation = Operation::Allgatherv,
                                 .type = element_type_v<T>,
                                 .element_size = sizeof(T),
                                 .count = hash_unless_spared(counts)};
    conduct(record, AllgathervCall{send, recv.data(), counts, displs, sizeof(T), in_place});
  }

  template <class T, std::size_t N, class Op>
  void allreduce_elements(Where where, const T* send, std::span<T, N> recv, Op&& op, Reproducible reproducible) const {
    const OperationRecord record{.operation = Operation::Allreduce,
                                 .reproducible = static_cast<std::uint8_t>(reproducible),
                                 .count = recv.size()};
    const AllreduceCall call{.send = send, .recv = recv.data(), .count = recv.size(), .reproducible = reproducible};
    conduct_reduction<T>(self(), where, op, record, call);
  }
};

}  // namespace cobre::comm::detail
