// The shm backend: the ranks of one machine, without MPI. Ranks are processes, or threads of one process that each
// attach with a rank of their own.
#pragma once

#include <cobre/comm/channel.hpp>
#include <cobre/comm/concepts.hpp>
#include <cobre/comm/detail/collectives.hpp>
#include <cobre/comm/detail/nonblocking.hpp>
#include <cobre/comm/detail/splitting.hpp>
#include <cobre/comm/region.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace cobre::comm {
namespace shm {

class Endpoint;

/// One mapping of shared pages, as this rank sees it.
class RegionBlock {
 public:
  RegionBlock(std::shared_ptr<Endpoint> endpoint, std::size_t count, std::size_t element_size,
              const RegionOptions& options);
  RegionBlock(RegionBlock&& other) noexcept;
  RegionBlock& operator=(RegionBlock&& other) noexcept;
  ~RegionBlock();

  [[nodiscard]] const void* readable() const noexcept { return readable_; }
  [[nodiscard]] void* writable() const noexcept { return writable_; }
  [[nodiscard]] bool leader() const noexcept { return rank_ == 0; }
  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t ranks() const noexcept { return ranks_; }
  void fence() const;

 private:
  std::shared_ptr<Endpoint> endpoint_;  // null once moved from
  std::uint64_t serial_ = 0;
  std::size_t bytes_ = 0;
  std::size_t rank_ = 0;
  std::size_t ranks_ = 1;
  const void* readable_ = nullptr;
  void* writable_ = nullptr;
};

}  // namespace shm

/// Whether ranks may copy straight between each other's private memory (process_vm_readv), which is tried out at
/// start-up; where it does not work, or is off, everything goes through shared buffers.
enum class SingleCopy : std::uint8_t { Auto, Off };

/// Where one algorithm gives way to the next. The values of rank 0 hold for the whole group; what is unset is chosen by
/// the number of ranks. Every choice gives the same bits.
struct ShmTuning {
  std::optional<std::size_t> one_shot_bytes;  // up to here every rank folds everything itself
  std::optional<std::size_t> exposed_bytes;   // from here on buffers are read where they lie, if possible; where unset,
                                              // those of a reduction only where a pointer reaches them
  std::optional<std::size_t> piece_bytes;     // large messages advance by this much
};

struct ShmConfig {
  std::string name;  // of the group: any short text that all its ranks know, and no other job of this user uses
  std::size_t rank = 0;
  std::size_t size = 1;

  std::chrono::milliseconds connect_timeout{30000};  // for all ranks to come
  std::chrono::milliseconds timeout{0};              // of one collective; 0 waits for ever
  std::chrono::milliseconds warn_after{10000};       // a rank that waits this long says for whom, then at doubled times
  std::size_t segment_bytes = std::size_t{64} << 20;  // the most that the group's buffers may take, all ranks together
  SingleCopy single_copy = SingleCopy::Auto;
  bool widen_ptrace = false;  // let every process of this user read this one (PR_SET_PTRACER), where Yama forbids it
  ShmTuning tuning;
  int witness = -1;  // on rank 0, a UNIX socket whose other end may look on: `cobre-comm run` says what a rank died in

  /// COBRE_SHM_NAME, COBRE_SHM_RANK, COBRE_SHM_SIZE and COBRE_COMM_TIMEOUT_SECS.
  [[nodiscard]] static ShmConfig from_environment();
};

/// Shared pages of T. Rank 0 leads: it fills, all fence, all read.
template <CommData T>
class ShmRegion : public detail::BlockRegion<T, shm::RegionBlock> {
 public:
  using ShmRegion::BlockRegion::BlockRegion;
};

class ShmBackend : public detail::Collectives<ShmBackend>,
                   public detail::PointToPointCalls<ShmBackend>,
                   public detail::Splitting<ShmBackend>,
                   public detail::NonblockingOperations<ShmBackend> {
 public:
  template <CommData T>
  using Region = ShmRegion<T>;

  /// Collective over the ranks that the configuration names. They may come in any order.
  [[nodiscard]] static ShmBackend attach(const ShmConfig& config);

  ShmBackend(ShmBackend&& other) noexcept;
  ShmBackend& operator=(ShmBackend&& other) noexcept;
  ~ShmBackend();

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Ends every rank: this one with the exit code, the others by signal.
  [[noreturn]] void abort(int code) const;

  /// Collective. The same count and options on every rank.
  template <CommData T>
  [[nodiscard]] ShmRegion<T> create_shared_region(std::size_t count, const RegionOptions& options = {}) const {
    return ShmRegion<T>(shm::RegionBlock(endpoint_, count, sizeof(T), options), count);
  }

  /// Collective. All ranks of this backend share one node; the result may be used beside this communicator, and longer.
  [[nodiscard]] std::unique_ptr<LocalCommunicator> split_local() const;
  [[nodiscard]] bool is_leader() const noexcept { return rank_ == 0; }
  [[nodiscard]] const ExecutionTopology& topology() const;

  /// Whether large messages go straight between private buffers.
  [[nodiscard]] bool uses_single_copy() const;

 private:
  friend class detail::Collectives<ShmBackend>;
  friend class detail::PointToPointCalls<ShmBackend>;
  friend class detail::Splitting<ShmBackend>;
  friend class detail::NonblockingOperations<ShmBackend>;
  friend class CommBackend;

  explicit ShmBackend(std::shared_ptr<shm::Endpoint> endpoint) noexcept;

  [[nodiscard]] std::optional<ShmBackend> make_part(const detail::Division& division) const;
  [[nodiscard]] detail::LaneSeed<ShmBackend> lane_seed(detail::Drive) const;

  /// Every call of <cobre/comm/detail/calls.hpp>; compiled in the library.
  template <class Call>
  void execute(const detail::OperationRecord& record, const Call& call) const;

  [[nodiscard]] detail::Mailbox& mailbox(const char* operation) const;
  [[nodiscard]] std::shared_ptr<detail::Mailbox> share_mailbox(const char* operation) const;

  std::shared_ptr<shm::Endpoint> endpoint_;  // regions hold it too; null once moved from
  std::size_t rank_ = 0;
  std::size_t size_ = 1;
};

using ShmChannel = BasicChannel<ShmBackend>;

}  // namespace cobre::comm
