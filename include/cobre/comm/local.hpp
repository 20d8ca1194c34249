// The local backend: one rank. Every check of the other backends, and calls that the compiler removes.
#pragma once

#include <cobre/comm/channel.hpp>
#include <cobre/comm/concepts.hpp>
#include <cobre/comm/detail/collectives.hpp>
#include <cobre/comm/detail/nonblocking.hpp>
#include <cobre/comm/detail/splitting.hpp>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>

namespace cobre::comm {
namespace detail {

/// How many local communicators have messages. Relaxed: who looks asks for its own, which it has seen counted, and
/// where there are only others finds nothing under its address.
extern std::atomic<std::size_t> local_mailboxes;

/// The messages of a communicator that has no state. All that tells one from another is where it stands: its mailbox is
/// in a table of the library, under its address, from the first message on. Until there is one, nothing is looked up.
class LocalMail {
 public:
  LocalMail() = default;
  LocalMail(LocalMail&& other) noexcept { *this = std::move(other); }
  LocalMail& operator=(LocalMail&& other) noexcept {
    if (local_mailboxes.load(std::memory_order_relaxed) != 0) [[unlikely]]
      take_over(other);
    return *this;
  }
  ~LocalMail() {
    if (local_mailboxes.load(std::memory_order_relaxed) != 0) [[unlikely]]
      let_go();
  }

 protected:
  [[nodiscard]] Mailbox& own_mailbox() const;
  [[nodiscard]] std::shared_ptr<Mailbox> share_own_mailbox() const;

 private:
  [[gnu::cold]] void take_over(LocalMail& other) noexcept;
  [[gnu::cold]] void let_go() noexcept;
};

}  // namespace detail

class LocalBackend : private detail::LocalMail,
                     public detail::Collectives<LocalBackend>,
                     public detail::PointToPointCalls<LocalBackend>,
                     public detail::NonblockingOperations<LocalBackend, detail::NoLanes> {
 public:
  template <CommData T>
  using Region = HeapRegion<T>;

  LocalBackend() = default;
  LocalBackend(LocalBackend&&) = default;
  LocalBackend& operator=(LocalBackend&&) = default;

  [[nodiscard]] static constexpr std::size_t rank() noexcept { return 0; }
  [[nodiscard]] static constexpr std::size_t size() noexcept { return 1; }

  /// Ends the process with this exit code.
  [[noreturn]] void abort(int code) const;

  template <CommData T>
  [[nodiscard]] HeapRegion<T> create_shared_region(std::size_t count, const RegionOptions& options = {}) const {
    return HeapRegion<T>({"create_shared_region", rank(), size()}, count, options);
  }

  [[nodiscard]] std::unique_ptr<LocalCommunicator> split_local() const;
  [[nodiscard]] static constexpr bool is_leader() noexcept { return true; }
  [[nodiscard]] const ExecutionTopology& topology() const;

  /// This rank once more; nothing for a negative colour.
  [[nodiscard]] std::optional<LocalBackend> split(int color, int /*key*/ = 0) const {
    if (color < 0) return std::nullopt;
    return LocalBackend();
  }
  [[nodiscard]] LocalBackend duplicate() const { return {}; }
  [[nodiscard]] LocalBackend node() const { return {}; }

 private:
  friend class detail::Collectives<LocalBackend>;
  friend class detail::PointToPointCalls<LocalBackend>;
  friend class CommBackend;

  [[nodiscard]] static detail::LaneSeed<LocalBackend> lane_seed(detail::Drive) { return {LocalBackend(), nullptr}; }

  void execute(const detail::OperationRecord&, const detail::BarrierCall&) const noexcept {}
  void execute(const detail::OperationRecord&, const detail::BroadcastCall&) const noexcept {}

  void execute(const detail::OperationRecord&, const detail::AllreduceCall& call) const noexcept {
    if (!call.in_place() && call.count > 0) std::memcpy(call.recv, call.send, call.count * call.element_size);
  }

  void execute(const detail::OperationRecord&, const detail::AllgathervCall& call) const noexcept { call.copy_own(0); }

  // What one rank sends, it receives.
  static void copy(void* to, const void* from, std::size_t to_element, std::size_t from_element, std::size_t count,
                   std::size_t element_size) noexcept {
    if (count == 0) return;
    std::memcpy(static_cast<std::byte*>(to) + to_element * element_size,
                static_cast<const std::byte*>(from) + from_element * element_size, count * element_size);
  }
  void execute(const detail::OperationRecord&, const detail::GatherCall& call) const noexcept {
    copy(call.recv, call.send, call.parts.displ(0), 0, call.count, call.element_size);
  }
  void execute(const detail::OperationRecord&, const detail::ScatterCall& call) const noexcept {
    copy(call.recv, call.send, 0, call.parts.displ(0), call.count, call.element_size);
  }
  void execute(const detail::OperationRecord&, const detail::AlltoallCall& call) const noexcept {
    copy(call.recv, call.send, call.to.displ(0), call.from.displ(0), call.to.count(0), call.element_size);
  }
  void execute(const detail::OperationRecord& record, const detail::ScanCall& call) const noexcept {
    if (!call.exclusive) execute(record, static_cast<const detail::AllreduceCall&>(call));
  }

  [[nodiscard]] detail::Mailbox& mailbox(const char* operation) const;
  [[nodiscard]] std::shared_ptr<detail::Mailbox> share_mailbox(const char* operation) const;
};

using LocalChannel = BasicChannel<LocalBackend>;

static_assert(std::is_empty_v<LocalBackend>);

}  // namespace cobre::comm
