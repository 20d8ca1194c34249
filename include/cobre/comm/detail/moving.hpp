// The collectives that move parts between ranks: gather, scatter, alltoall, and their forms with parts of any length.
//
// What only the root needs may be empty elsewhere, and is not looked at. Counts and displacements are in elements.
#pragma once

#include <cobre/comm/base/buffer.hpp>
#include <cobre/comm/base/gathered.hpp>
#include <cobre/comm/detail/arguments.hpp>
#include <cobre/comm/detail/reducing.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace cobre::comm::detail {

template <class Backend>
class MovingOperations : public ReducingOperations<Backend> {
  using Sizes = std::span<const std::size_t>;

 protected:
  using OperationBase<Backend>::self;
  using OperationBase<Backend>::here;

 public:
  /// Collective. Every rank's `send`, in the order of the ranks, in `recv` on the root. All are equally long.
  template <BufferLike Send, BufferLike Recv>
  void gather(Send&& send, Recv&& recv, std::size_t root) const {
    const Where where = here("gather");
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv), only_on(root, where));
    require_same_elements(in, out);
    check_root(where, root);
    if (where.rank == root) {
      check_blocks(where, "recv", out.size(), "send", in.size());
      check_apart(where, in, out);
    }
    gather_elements(Operation::Gather, in, out, Parts(in.size()), root);
  }

  /// Collective. One value of each rank, on the root; nothing elsewhere.
  template <class T>
  requires(!BufferLike<T>) [[nodiscard]] std::vector<T> gather(const T& value, std::size_t root) const {
    require_comm_data<T>();
    check_root(here("gather"), root);
    std::vector<T> all(self().rank() == root ? self().size() : 0);
    gather(std::span<const T, 1>(&value, 1), all, root);
    return all;
  }

  /// Collective. As gather on every rank.
  template <BufferLike Send, BufferLike Recv>
  void allgather(Send&& send, Recv&& recv) const {
    const Where where = here("allgather");
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv));
    require_same_elements(in, out);
    check_blocks(where, "recv", out.size(), "send", in.size());
    check_apart(where, in, out);
    PerRank counts(where.size);
    PerRank displs(where.size);
    for (std::size_t rank = 0; rank < where.size; ++rank) {
      counts.values()[rank] = in.size();
      displs.values()[rank] = rank * in.size();
    }
    using T = typename decltype(out)::element_type;
    self().conduct(record_of<T>(Operation::Allgather, in.size()),
                   AllgathervCall{in.data(), out.data(), counts.values(), displs.values(), sizeof(T)});
  }

  /// Collective. One value of each rank, on every rank.
  template <class T>
  requires(!BufferLike<T>) [[nodiscard]] std::vector<T> allgather(const T& value) const {
    require_comm_data<T>();
    std::vector<T> all(self().size());
    allgather(std::span<const T, 1>(&value, 1), all);
    return all;
  }

  /// Collective. Rank r gets block r of the root's `send`.
  template <BufferLike Send, BufferLike Recv>
  void scatter(Send&& send, Recv&& recv, std::size_t root) const {
    const Where where = here("scatter");
    const auto in = checked_input(where, send, only_on(root, where));
    const auto out = checked_output(where, std::forward<Recv>(recv));
    require_same_elements(in, out);
    check_root(where, root);
    if (where.rank == root) {
      check_blocks(where, "send", in.size(), "recv", out.size());
      check_apart(where, in, out);
    }
    scatter_elements(Operation::Scatter, in, Parts(out.size()), out, root);
  }

  /// Collective. Block j of rank i's `send` becomes block i of rank j's `recv`.
  template <BufferLike Send, BufferLike Recv>
  void alltoall(Send&& send, Recv&& recv) const {
    static_assert(lengths_may_agree<Send, Recv>, "alltoall: send and recv have different lengths");
    const Where where = here("alltoall");
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv));
    require_same_elements(in, out);
    check_same_length(where, in.size(), out.size());
    check_divisible(where, in.size());
    check_apart(where, in, out);
    const Parts blocks(in.size() / where.size);
    exchange_elements(Operation::Alltoall, in, blocks, out, blocks);
  }

  /// Collective. As gather, with parts of any length: rank r's `send` appears at `recv[displs[r]…]` on the root.
  template <BufferLike Send, BufferLike Recv>
  void gatherv(Send&& send, Recv&& recv, Sizes counts, Sizes displs, std::size_t root) const {
    const Where where = here("gatherv");
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv), only_on(root, where));
    require_same_elements(in, out);
    check_root(where, root);
    if (where.rank == root) {
      check_gathered_segments(where, in.size(), out.size(), counts, displs);
      check_apart(where, in, out);
    }
    gather_elements(Operation::Gatherv, in, out, where.rank == root ? Parts(counts, displs) : Parts(), root);
  }

  /// Collective. The same where nobody knows the counts: works them out with one more exchange. Empty off the root.
  template <BufferLike Send>
  [[nodiscard]] auto gatherv(Send&& send, std::size_t root) const {
    const auto in = checked_input(here("gatherv"), send);
    check_root(here("gatherv"), root);
    Gathered<element_t<Send>> result;
    result.counts = gather(in.size(), root);
    allot(result);
    gatherv(in, result.values, result.counts, result.displs, root);
    return result;
  }

  /// Collective. As scatter, with parts of any length: rank r gets `send[displs[r]…]` of the root.
  template <BufferLike Send, BufferLike Recv>
  void scatterv(Send&& send, Sizes counts, Sizes displs, Recv&& recv, std::size_t root) const {
    const Where where = here("scatterv");
    const auto in = checked_input(where, send, only_on(root, where));
    const auto out = checked_output(where, std::forward<Recv>(recv));
    require_same_elements(in, out);
    check_root(where, root);
    if (where.rank == root) {
      check_read_segments(where, {"send", "counts", "displs"}, in.size(), counts, displs);
      check_own_count(where, "recv", out.size(), "counts", counts);
      check_apart(where, in, out);
    }
    scatter_elements(Operation::Scatterv, in, where.rank == root ? Parts(counts, displs) : Parts(), out, root);
  }

  /// Collective. This rank's part of the root's `send`, whose parts lie one behind the other and whose lengths only the
  /// root knows.
  template <BufferLike Send>
  [[nodiscard]] auto scatterv(Send&& send, Sizes counts, std::size_t root) const {
    const Where where = here("scatterv");
    const auto in = checked_input(where, send, only_on(root, where));
    check_root(where, root);
    std::vector<std::size_t> displs;
    if (where.rank == root) {
      check_packed_parts(where, in.size(), counts);
      displs = packed(counts);
    }
    std::size_t own = 0;
    scatter(counts, std::span<std::size_t, 1>(&own, 1), root);
    std::vector<element_t<Send>> result(own);
    scatterv(in, counts, displs, result, root);
    return result;
  }

  /// Collective. As alltoall, with parts of any length: part j of rank i has sendcounts[j] elements from sdispls[j] on,
  /// and rank j, who says so in recvcounts[i], gets it at rdispls[i].
  template <BufferLike Send, BufferLike Recv>
  void alltoallv(Send&& send, Sizes sendcounts, Sizes sdispls, Recv&& recv, Sizes recvcounts, Sizes rdispls) const {
    const Where where = here("alltoallv");
    const auto in = checked_input(where, send);
    const auto out = checked_output(where, std::forward<Recv>(recv));
    require_same_elements(in, out);
    check_read_segments(where, {"send", "sendcounts", "sdispls"}, in.size(), sendcounts, sdispls);
    check_written_segments(where, {"recv", "recvcounts", "rdispls"}, out.size(), recvcounts, rdispls);
    check_part_for_itself(where, sendcounts[where.rank], recvcounts[where.rank]);
    check_apart(where, in, out);
    exchange_elements(Operation::Alltoallv, in, Parts(sendcounts, sdispls), out, Parts(recvcounts, rdispls));
  }

  /// Collective. The same where the parts lie one behind the other and nobody knows what it will receive.
  template <BufferLike Send>
  [[nodiscard]] auto alltoallv(Send&& send, Sizes counts) const {
    const Where where = here("alltoallv");
    const auto in = checked_input(where, send);
    check_packed_parts(where, in.size(), counts);
    Gathered<element_t<Send>> result;
    result.counts.resize(where.size);
    alltoall(counts, result.counts);
    allot(result);
    alltoallv(in, counts, packed(counts), result.values, result.counts, result.displs);
    return result;
  }

 private:
  [[nodiscard]] static std::vector<std::size_t> packed(Sizes counts) {
    std::vector<std::size_t> displs(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), std::size_t{0});
    return displs;
  }
  // Makes room for what the counts say.
  template <class T>
  static void allot(Gathered<T>& result) {
    result.displs = packed(result.counts);
    if (!result.counts.empty()) result.values.resize(result.displs.back() + result.counts.back());
  }

  template <class T>
  [[nodiscard]] static OperationRecord record_of(Operation operation, std::size_t count,
                                                 std::size_t root = 0) noexcept {
    return {.operation = operation, .type = element_type_v<T>, .element_size = sizeof(T), .count = count, .root = root};
  }

  template <class T>
  void gather_elements(Operation operation, std::span<const T> send, std::span<T> recv, const Parts& parts,
                       std::size_t root) const {
    const std::size_t agreed = has_pairwise_lengths(operation) ? 0 : send.size();
    void* const to = self().rank() == root ? recv.data() : nullptr;
    self().conduct(record_of<T>(operation, agreed, root),
                   GatherCall{send.data(), send.size(), to, parts, sizeof(T), root});
  }

  template <class T>
  void scatter_elements(Operation operation, std::span<const T> send, const Parts& parts, std::span<T> recv,
                        std::size_t root) const {
    const std::size_t agreed = has_pairwise_lengths(operation) ? 0 : recv.size();
    const void* const from = self().rank() == root ? send.data() : nullptr;
    self().conduct(record_of<T>(operation, agreed, root),
                   ScatterCall{from, parts, recv.data(), recv.size(), sizeof(T), root});
  }

  template <class T>
  void exchange_elements(Operation operation, std::span<const T> send, const Parts& from, std::span<T> recv,
                         const Parts& to) const {
    const std::size_t agreed = from.uniform() ? from.count(0) : 0;
    self().conduct(record_of<T>(operation, agreed), AlltoallCall{send.data(), from, recv.data(), to, sizeof(T)});
  }
};

}  // namespace cobre::comm::detail
