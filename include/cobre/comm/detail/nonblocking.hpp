// The forms of the collectives that do not wait, and those that are set up once: written over the blocking ones, so
// that checks, types and algorithms are theirs.
#pragma once

#include <cobre/comm/detail/collectives.hpp>
#include <cobre/comm/detail/lane.hpp>
#include <cobre/comm/request.hpp>

#include <cstddef>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace cobre::comm::detail {

/// Makes every check of an operation and sends nothing. Its errors are those of the call that is checked for.
class Rehearsal : public Collectives<Rehearsal> {
 public:
  Rehearsal(const char* operation, std::size_t rank, std::size_t size) noexcept
      : operation_(operation), rank_(rank), size_(size) {}
  [[nodiscard]] const char* checks_for() const noexcept { return operation_; }
  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  friend class Collectives<Rehearsal>;
  template <class Call>
  void execute(const OperationRecord&, const Call&) const noexcept {}

  const char* operation_;
  std::size_t rank_;
  std::size_t size_;
};

template <class B>
consteval void require_to_stay() {
  static_assert(!GivenAway<B>,
                "the operation goes on after this call: pass a named container or a span, not a temporary that dies "
                "with the call");
}

template <class Backend>
struct LaneHolder {
  mutable std::unique_ptr<Lanes<Backend>> lanes;
};
/// For a backend that is always alone, and has nothing to wait for.
struct NoLanes {};

/// A backend that derives from this implements
///   LaneSeed<Backend> lane_seed(Drive)
/// which is collective; better so that no rank has to wait for the others in it.
template <class Backend, class Holder = LaneHolder<Backend>>
class NonblockingOperations : private Holder {
 public:
  /// For who stands before this communicator, and has lanes of its own.
  [[nodiscard]] LaneSeed<Backend> seed_lane(Drive drive) const { return self().lane_seed(drive); }

  /// Collective, like all of these: every rank starts the same operations in the same order, and the buffers are left
  /// alone until the request is over. Arguments are checked before anything begins.
  [[nodiscard]] Request ibarrier() const {
    return begin("ibarrier", Folded::No, [](auto&) { return [](const auto& comm) { comm.barrier(); }; });
  }

  template <BufferLike Buffer>
  requires(!GivenAway<Buffer>) [[nodiscard]] Request ibroadcast(Buffer&& buffer, std::size_t root) const {
    rehearsal("ibroadcast").broadcast(buffer, root);
    return begin("ibroadcast", Folded::No, broadcasting(output(std::forward<Buffer>(buffer)), root));
  }
  /// Of a container or a value that is given away; get() hands back what `root` passed.
  template <class R>
  requires(GivenAway<R> || !BufferLike<R>) [[nodiscard]] auto ibroadcast(R&& given, std::size_t root) const {
    return keep(std::forward<R>(given), [&](auto& held) { return ibroadcast(elements_of(held), root); });
  }

  template <BufferLike Send, BufferLike Recv, class Op>
  [[nodiscard]] Request iallreduce(Send&& send, Recv&& recv, Op op,
                                   Reproducible reproducible = Reproducible::Default) const {
    require_to_stay<Send>();
    rehearsal("iallreduce").allreduce(send, std::forward<Recv>(recv), op, reproducible);
    return begin("iallreduce", folded<Op>(reproducible),
                 reducing(input(send), output(std::forward<Recv>(recv)), std::move(op), reproducible));
  }
  template <BufferLike Buffer, class Op>
  [[nodiscard]] Request iallreduce_inplace(Buffer&& buffer, Op op,
                                           Reproducible reproducible = Reproducible::Default) const {
    return reduce_in_place("iallreduce_inplace", std::forward<Buffer>(buffer), std::move(op), reproducible);
  }
  /// Of a container or a value that is given away; get() hands back the result in its place.
  template <class R, class Op>
  requires((GivenAway<R> || !BufferLike<R>)&&!BufferLike<Op>)
      [[nodiscard]] auto iallreduce(R&& given, Op op, Reproducible reproducible = Reproducible::Default) const {
    return keep(std::forward<R>(given), [&](auto& held) {
      return reduce_in_place("iallreduce", elements_of(held), std::move(op), reproducible);
    });
  }

  /// Counts and displacements are copied.
  template <BufferLike Send, BufferLike Recv>
  [[nodiscard]] Request iallgatherv(Send&& send, Recv&& recv, std::span<const std::size_t> counts,
                                    std::span<const std::size_t> displs) const {
    require_to_stay<Send>();
    rehearsal("iallgatherv").allgatherv(send, std::forward<Recv>(recv), counts, displs);
    return begin("iallgatherv", Folded::No, gathering(input(send), output(std::forward<Recv>(recv)), counts, displs));
  }

  /// Collective. Sets an operation up, on a communicator of its own: start() it, wait() for it, change the data,
  /// start() it again.
  template <BufferLike Buffer>
  [[nodiscard]] PersistentRequest broadcast_init(Buffer&& buffer, std::size_t root) const {
    rehearsal("broadcast_init").broadcast(std::forward<Buffer>(buffer), root);
    return plan("broadcast_init", Folded::No, broadcasting(output(std::forward<Buffer>(buffer)), root));
  }
  template <BufferLike Send, BufferLike Recv, class Op>
  [[nodiscard]] PersistentRequest allreduce_init(Send&& send, Recv&& recv, Op op,
                                                 Reproducible reproducible = Reproducible::Default) const {
    require_to_stay<Send>();
    rehearsal("allreduce_init").allreduce(send, std::forward<Recv>(recv), op, reproducible);
    return plan("allreduce_init", folded<Op>(reproducible),
                reducing(input(send), output(std::forward<Recv>(recv)), std::move(op), reproducible));
  }
  template <BufferLike Send, BufferLike Recv>
  [[nodiscard]] PersistentRequest allgatherv_init(Send&& send, Recv&& recv, std::span<const std::size_t> counts,
                                                  std::span<const std::size_t> displs) const {
    require_to_stay<Send>();
    rehearsal("allgatherv_init").allgatherv(send, std::forward<Recv>(recv), counts, displs);
    return plan("allgatherv_init", Folded::No,
                gathering(input(send), output(std::forward<Recv>(recv)), counts, displs));
  }

 protected:
  ~NonblockingOperations() = default;
  NonblockingOperations() = default;
  NonblockingOperations(NonblockingOperations&&) = default;
  NonblockingOperations& operator=(NonblockingOperations&&) = default;

 private:
  [[nodiscard]] const Backend& self() const noexcept { return static_cast<const Backend&>(*this); }
  [[nodiscard]] Rehearsal rehearsal(const char* operation) const noexcept {
    return {operation, self().rank(), self().size()};
  }

  template <class Buffer, class Op>
  [[nodiscard]] Request reduce_in_place(const char* operation, Buffer&& buffer, Op op,
                                        Reproducible reproducible) const {
    rehearsal(operation).allreduce_inplace(buffer, op, reproducible);
    return begin(operation, folded<Op>(reproducible),
                 reducing_inplace(output(std::forward<Buffer>(buffer)), std::move(op), reproducible));
  }

  // Each of these takes the lane on which the operation will run, and gives what to run there.
  template <class T>
  static auto broadcasting(std::span<T> buffer, std::size_t root) {
    return [=](auto&) { return [=](const auto& comm) { comm.broadcast(buffer, root); }; };
  }
  template <class T, class Op>
  static auto reducing(std::span<const T> send, std::span<T> recv, Op op, Reproducible reproducible) {
    return [=, op = std::move(op)](auto&) mutable {
      return [=, op = std::move(op)](const auto& comm) mutable { comm.allreduce(send, recv, op, reproducible); };
    };
  }
  template <class T, class Op>
  static auto reducing_inplace(std::span<T> buffer, Op op, Reproducible reproducible) {
    return [=, op = std::move(op)](auto&) mutable {
      return [=, op = std::move(op)](const auto& comm) mutable { comm.allreduce_inplace(buffer, op, reproducible); };
    };
  }
  template <class T>
  static auto gathering(std::span<const T> send, std::span<T> recv, std::span<const std::size_t> counts,
                        std::span<const std::size_t> displs) {
    return [=](auto& lane) {
      lane.counts.assign(counts.begin(), counts.end());
      lane.displs.assign(displs.begin(), displs.end());
      return [=, &lane](const auto& comm) { comm.allgatherv(send, recv, lane.counts, lane.displs); };
    };
  }

  /// Whether elements are folded by layer 2 even where the backend has a reduction of its own.
  enum class Folded { No, Yes };
  template <class Op>
  static constexpr Folded folded(Reproducible reproducible) noexcept {
    return !std::is_same_v<Op, ReduceOp> || reproducible == Reproducible::Yes ? Folded::Yes : Folded::No;
  }

  template <class Prepare>
  [[nodiscard]] Request begin(const char* operation, Folded folded, Prepare prepare) const {
    if constexpr (std::is_same_v<Holder, NoLanes>) {
      Alone alone;
      prepare(alone)(self());
      return Request();
    } else {
      if (this->lanes == nullptr) this->lanes = std::make_unique<Lanes<Backend>>();
      const Drive drive = drive_of(operation, folded, this->lanes->drive());
      const auto& lane = this->lanes->next(drive, [&](Drive how) { return self().lane_seed(how); });
      lane->set(prepare(*lane));
      const std::uint64_t number = lane->start(drive);
      Request request(Run(lane, number));
      if (!lane->made()) lane->bring_forward(number, lane->made());
      return request;
    }
  }
  template <class Prepare>
  [[nodiscard]] PersistentRequest plan(const char* operation, Folded folded, Prepare prepare) const {
    const Drive drive = drive_of(operation, folded, drive_from_environment());
    auto lane = std::make_shared<Lane<Backend>>(LaneSeed<Backend>{self().duplicate(), nullptr});
    lane->set(prepare(*lane));
    return PersistentRequest(std::move(lane), drive, {operation, self().rank(), self().size()});
  }
  /// On MPI only what is a single call of it goes on while the caller sits in another one; what is folded here takes
  /// several.
  [[nodiscard]] Drive drive_of(const char* operation, Folded folded, Drive asked) const {
    const auto& mpi = self().topology().mpi;
    if (!mpi) return asked;
    const Drive drive = folded == Folded::Yes ? Drive::Thread : asked;
    if (drive == Drive::Thread && mpi->thread_level != "Multiple") [[unlikely]]
      throw_needs_threads({operation, self().rank(), self().size()}, mpi->thread_level.c_str());
    return drive;
  }

  struct Alone {
    std::vector<std::size_t> counts;
    std::vector<std::size_t> displs;
  };

  template <class T>
  static auto elements_of(T& held) {
    if constexpr (BufferLike<T>) {
      return output(held);
    } else {
      require_comm_data<T>();
      return std::span<T>(&held, 1);
    }
  }
  template <class R, class Start>
  [[nodiscard]] static auto keep(R&& given, Start start) {
    using Kept = std::remove_cvref_t<R>;
    auto held = std::make_unique<Kept>(std::forward<R>(given));
    Request request = start(*held);
    return Pending<Kept>(std::move(held), std::move(request));
  }
};

}  // namespace cobre::comm::detail
