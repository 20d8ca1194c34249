// Any backend of this build, chosen at run time.
#pragma once

#include <cobre/comm/config.hpp>
#include <cobre/comm/detail/choice.hpp>
#include <cobre/comm/detail/chosen_region.hpp>
#include <cobre/comm/detail/nonblocking.hpp>
#include <cobre/comm/local.hpp>
#ifdef COBRE_COMM_HAS_SHM
#include <cobre/comm/shm.hpp>
#endif
#ifdef COBRE_COMM_HAS_TCP
#include <cobre/comm/tcp.hpp>
#endif
#ifdef COBRE_COMM_HAS_MPI
#include <cobre/comm/mpi.hpp>
#endif

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace cobre::comm {
namespace detail {

template <template <class...> class Template, template <class> class Map>
using ForEachBackend = Template<Map<LocalBackend>
#ifdef COBRE_COMM_HAS_SHM
                                ,
                                Map<ShmBackend>
#endif
#ifdef COBRE_COMM_HAS_TCP
                                ,
                                Map<TcpBackend>
#endif
#ifdef COBRE_COMM_HAS_MPI
                                ,
                                Map<FerrompiBackend>
#endif
                                >;

template <class T>
struct RegionOf {
  template <class Backend>
  using type = typename Backend::template Region<T>;
  template <class... Regions>
  using choice = ChosenRegion<T, Regions...>;
};

}  // namespace detail

/// A region of whichever backend made it.
template <CommData T>
class CommRegion
    : public detail::ForEachBackend<detail::RegionOf<T>::template choice, detail::RegionOf<T>::template type> {
 public:
  using CommRegion::ChosenRegion::ChosenRegion;
};

/// Holds any backend that was compiled in and models all that they model, with one branch a call. Where that branch
/// matters, `visit` gives the concrete type once and the calls inside are static.
class CommBackend : public detail::Collectives<CommBackend>,
                    public detail::PointToPointCalls<CommBackend>,
                    public detail::NonblockingOperations<CommBackend> {
  using AnyBackend = detail::ForEachBackend<detail::Choice, std::type_identity_t>;

 public:
  template <CommData T>
  using Region = CommRegion<T>;

  /// Takes a backend over.
  template <class Backend>
  requires(!std::same_as<std::remove_cvref_t<Backend>, CommBackend> &&
           std::constructible_from<AnyBackend, Backend>) explicit CommBackend(Backend&& backend)
      : backend_(std::forward<Backend>(backend)) {}

  /// Calls `f` with the concrete backend.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return backend_.visit(std::forward<F>(f));
  }

  [[nodiscard]] std::size_t rank() const noexcept {
    return visit([](const auto& backend) { return backend.rank(); });
  }
  [[nodiscard]] std::size_t size() const noexcept {
    return visit([](const auto& backend) { return backend.size(); });
  }
  [[noreturn]] void abort(int code) const {
    visit([&](const auto& backend) { backend.abort(code); });
    __builtin_unreachable();
  }

  template <CommData T>
  [[nodiscard]] CommRegion<T> create_shared_region(std::size_t count, const RegionOptions& options = {}) const {
    return visit(
        [&](const auto& backend) { return CommRegion<T>(backend.template create_shared_region<T>(count, options)); });
  }
  [[nodiscard]] std::unique_ptr<LocalCommunicator> split_local() const {
    return visit([](const auto& backend) { return backend.split_local(); });
  }
  [[nodiscard]] bool is_leader() const {
    return visit([](const auto& backend) { return backend.is_leader(); });
  }
  [[nodiscard]] const ExecutionTopology& topology() const {
    return visit([](const auto& backend) -> const ExecutionTopology& { return backend.topology(); });
  }

  /// Collective: see detail::Splitting. A part of a backend is of the same kind.
  [[nodiscard]] std::optional<CommBackend> split(int color, int key = 0) const {
    return visit([&](const auto& backend) -> std::optional<CommBackend> {
      auto part = backend.split(color, key);
      if (!part) return std::nullopt;
      return CommBackend(std::move(*part));
    });
  }
  [[nodiscard]] CommBackend duplicate() const {
    return visit([](const auto& backend) { return CommBackend(backend.duplicate()); });
  }
  [[nodiscard]] CommBackend node() const {
    return visit([](const auto& backend) { return CommBackend(backend.node()); });
  }

  [[nodiscard]] BackendKind kind() const { return topology().backend; }

 private:
  friend class detail::Collectives<CommBackend>;
  friend class detail::PointToPointCalls<CommBackend>;
  friend class detail::NonblockingOperations<CommBackend>;

  [[nodiscard]] detail::LaneSeed<CommBackend> lane_seed(detail::Drive drive) const {
    return visit([&](const auto& backend) {
      auto seed = backend.lane_seed(drive);
      return detail::LaneSeed<CommBackend>{CommBackend(std::move(seed.comm)), std::move(seed.place)};
    });
  }

  template <class Call>
  void execute(const detail::OperationRecord& record, const Call& call) const {
    visit([&](const auto& backend) { backend.conduct(record, call); });
  }

  [[nodiscard]] detail::Mailbox& mailbox(const char* operation) const {
    return visit([=](const auto& backend) -> detail::Mailbox& { return backend.mailbox(operation); });
  }
  [[nodiscard]] std::shared_ptr<detail::Mailbox> share_mailbox(const char* operation) const {
    return visit([=](const auto& backend) { return backend.share_mailbox(operation); });
  }

  AnyBackend backend_;
};

/// A channel of whichever backend opened it.
using CommChannel = BasicChannel<CommBackend>;

}  // namespace cobre::comm
