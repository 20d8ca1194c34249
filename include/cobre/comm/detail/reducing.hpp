// The reductions beside allreduce. Like it, they give the canonical bits on local, shm and tcp, and on mpi where
// Reproducible::Yes asks for them: what a rank gets is the canonical fold (fold.hpp) over the ranks that count for it.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <cobre/comm/detail/arguments.hpp>
#include <cobre/comm/detail/operation_base.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace cobre::comm::detail {

template <class Backend>
class ReducingOperations : public OperationBase<Backend> {
 protected:
  using OperationBase<Backend>::self;
  using OperationBase<Backend>::here;

 public:
  /// Collective. Element by element, combines `send` over all ranks into `recv` on the root; elsewhere `recv` is not
  /// looked at and may be empty.
  template <BufferLike Send, BufferLike Recv, class Op>
  void reduce(Send&& send, Recv&& recv, Op&& op, std::size_t root,
              Reproducible reproducible = Reproducible::Default) const {
    const Where where = here("reduce");
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv), only_on(root, where));
    require_same_elements(in, out);
    check_root(where, root);
    if (where.rank == root) {
      check_same_length(where, in.size(), out.size());
      check_apart(where, in, out);
    }
    reduce_elements(where, in, out.data(), op, root, reproducible);
  }

  /// Collective. The same on one value of each rank: the result on the root, the own value elsewhere.
  template <class T, class Op>
  requires(!BufferLike<T>) [[nodiscard]] T
      reduce(const T& value, Op&& op, std::size_t root, Reproducible reproducible = Reproducible::Default) const {
    require_comm_data<T>();
    const Where where = here("reduce");
    check_root(where, root);
    T result = value;
    reduce_elements(where, std::span<const T>(&value, 1), &result, op, root, reproducible);
    return result;
  }

  /// Collective. Element by element, rank r gets `send` combined over ranks 0 to r.
  template <BufferLike Send, BufferLike Recv, class Op>
  void scan(Send&& send, Recv&& recv, Op&& op, Reproducible reproducible = Reproducible::Default) const {
    scan_buffers(Operation::Scan, std::forward<Send>(send), std::forward<Recv>(recv), op, reproducible);
  }
  template <class T, class Op>
  requires(!BufferLike<T>) [[nodiscard]] T
      scan(const T& value, Op&& op, Reproducible reproducible = Reproducible::Default) const {
    return scan_value(Operation::Scan, value, op, reproducible);
  }

  /// Collective. The same over ranks 0 to r - 1; on rank 0 `recv` stays as it was, and the value is T{}.
  template <BufferLike Send, BufferLike Recv, class Op>
  void exscan(Send&& send, Recv&& recv, Op&& op, Reproducible reproducible = Reproducible::Default) const {
    scan_buffers(Operation::Exscan, std::forward<Send>(send), std::forward<Recv>(recv), op, reproducible);
  }
  template <class T, class Op>
  requires(!BufferLike<T>) [[nodiscard]] T
      exscan(const T& value, Op&& op, Reproducible reproducible = Reproducible::Default) const {
    return scan_value(Operation::Exscan, value, op, reproducible);
  }

  /// Collective. Rank r gets block r of what an allreduce would give; `send` holds one block a rank.
  template <BufferLike Send, BufferLike Recv, class Op>
  void reduce_scatter_block(Send&& send, Recv&& recv, Op&& op,
                            Reproducible reproducible = Reproducible::Default) const {
    const Where where = here("reduce_scatter_block");
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv));
    require_same_elements(in, out);
    check_blocks(where, "send", in.size(), "recv", out.size());
    check_apart(where, in, out);
    const ReduceScatterCall call{
        {.send = in.data(), .recv = out.data(), .count = out.size(), .reproducible = reproducible}};
    conduct_reduction<typename decltype(out)::element_type>(
        self(), where, op, record_of(Operation::ReduceScatterBlock, out.size(), reproducible), call);
  }

 private:
  [[nodiscard]] static OperationRecord record_of(Operation operation, std::size_t count,
                                                 Reproducible reproducible) noexcept {
    return {.operation = operation, .reproducible = static_cast<std::uint8_t>(reproducible), .count = count};
  }

  template <class T, class Op>
  void reduce_elements(Where where, std::span<const T> send, T* recv, Op&& op, std::size_t root,
                       Reproducible reproducible) const {
    OperationRecord record = record_of(Operation::Reduce, send.size(), reproducible);
    record.root = root;
    const ReduceCall call{{.send = send.data(),
                           .recv = where.rank == root ? recv : nullptr,
                           .count = send.size(),
                           .reproducible = reproducible},
                          root};
    conduct_reduction<T>(self(), where, op, record, call);
  }

  template <class Send, class Recv, class Op>
  void scan_buffers(Operation operation, Send&& send, Recv&& recv, Op&& op, Reproducible reproducible) const {
    static_assert(lengths_may_agree<Send, Recv>, "send and recv have different lengths");
    const Where where = here(to_string(operation));
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv));
    require_same_elements(in, out);
    check_same_length(where, in.size(), out.size());
    check_apart(where, in, out);
    scan_elements(operation, where, in, out.data(), op, reproducible);
  }

  template <class T, class Op>
  [[nodiscard]] T scan_value(Operation operation, const T& value, Op&& op, Reproducible reproducible) const {
    require_comm_data<T>();
    T result{};
    scan_elements(operation, here(to_string(operation)), std::span<const T>(&value, 1), &result, op, reproducible);
    return result;
  }

  template <class T, class Op>
  void scan_elements(Operation operation, Where where, std::span<const T> send, T* recv, Op&& op,
                     Reproducible reproducible) const {
    const ScanCall call{{.send = send.data(), .recv = recv, .count = send.size(), .reproducible = reproducible},
                        operation == Operation::Exscan};
    conduct_reduction<T>(self(), where, op, record_of(operation, send.size(), reproducible), call);
  }
};

}  // namespace cobre::comm::detail
