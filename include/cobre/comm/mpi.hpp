// The mpi backend: each collective as one call of MPI, but for those in canonical order; regions as MPI windows.
#pragma once

#include <cobre/comm/channel.hpp>
#include <cobre/comm/concepts.hpp>
#include <cobre/comm/detail/collectives.hpp>
#include <cobre/comm/detail/nonblocking.hpp>
#include <cobre/comm/detail/splitting.hpp>
#include <cobre/comm/region.hpp>
#include <ferrompi/communicator.hpp>
#include <ferrompi/thread_level.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace cobre::comm {
namespace detail {

struct MpiState;
class MpiRegionBlock;

struct MpiRegionDeleter {
  void operator()(MpiRegionBlock* block) const noexcept;
};

/// The bytes of a region, as this rank sees them.
class MpiRegionHandle {
 public:
  MpiRegionHandle(const MpiState& state, std::size_t count, std::size_t element_size, const RegionOptions& options);

  [[nodiscard]] const void* readable() const noexcept { return data_; }
  [[nodiscard]] void* writable() const noexcept { return data_; }
  [[nodiscard]] bool leader() const noexcept { return leads_; }
  [[nodiscard]] std::size_t rank() const noexcept { return node_rank_; }
  [[nodiscard]] std::size_t ranks() const noexcept { return node_size_; }
  void fence() const;

 private:
  std::unique_ptr<MpiRegionBlock, MpiRegionDeleter> block_;
  void* data_ = nullptr;
  bool leads_ = false;
  std::size_t node_rank_ = 0;
  std::size_t node_size_ = 1;
};

}  // namespace detail

struct MpiConfig {
  std::chrono::milliseconds timeout{0};  // of one message, and of a collective that is compared; 0 waits for ever
  std::chrono::milliseconds warn_after{10000};  // likewise: a rank that waits this long says so, then at doubled times
  bool check = false;  // compares every operation with that of the other ranks before it starts

  /// COBRE_COMM_TIMEOUT_SECS and COBRE_COMM_CHECK.
  [[nodiscard]] static MpiConfig from_environment();
};

/// Pages that the ranks of a node share through an MPI window. Destruction is collective over those ranks.
template <CommData T>
class FerrompiRegion : public detail::BlockRegion<T, detail::MpiRegionHandle> {
 public:
  using FerrompiRegion::BlockRegion::BlockRegion;
};

class FerrompiBackend : public detail::Collectives<FerrompiBackend>,
                        public detail::PointToPointCalls<FerrompiBackend>,
                        public detail::Splitting<FerrompiBackend>,
                        public detail::NonblockingOperations<FerrompiBackend> {
 public:
  template <CommData T>
  using Region = FerrompiRegion<T>;

  // Without a configuration, the one in the environment.

  /// Collective over all processes. Starts MPI, or adopts one that runs. Throws InitializationFailed where the library
  /// grants less than `required`, or where its world is not the one that the launcher announced.
  static FerrompiBackend init(ferrompi::ThreadLevel required = ferrompi::ThreadLevel::Multiple);
  static FerrompiBackend init(ferrompi::ThreadLevel required, const MpiConfig& config);

  /// Collective over `comm`, which is duplicated and otherwise left alone, its error handler included.
  static FerrompiBackend init(MPI_Comm comm);
  static FerrompiBackend init(MPI_Comm comm, const MpiConfig& config);
  explicit FerrompiBackend(MPI_Comm comm) : FerrompiBackend(init(comm)) {}
  FerrompiBackend(MPI_Comm comm, const MpiConfig& config) : FerrompiBackend(init(comm, config)) {}

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Ends every process of the job with this exit code.
  [[noreturn]] void abort(int code) const;

  /// Collective. All ranks get a region, or all throw AllocationFailed.
  template <CommData T>
  [[nodiscard]] FerrompiRegion<T> create_shared_region(std::size_t count, const RegionOptions& options = {}) const {
    static_assert(alignof(T) <= 64, "a window's memory is aligned to a cache line");
    return FerrompiRegion<T>({state("create_shared_region"), count, sizeof(T), options}, count);
  }
  /// Collective.
  [[nodiscard]] std::unique_ptr<LocalCommunicator> split_local() const;
  [[nodiscard]] bool is_leader() const;
  [[nodiscard]] const ExecutionTopology& topology() const;

  /// The duplicate that the collectives run on.
  [[nodiscard]] MPI_Comm native() const;

 private:
  friend class detail::Collectives<FerrompiBackend>;
  friend class detail::PointToPointCalls<FerrompiBackend>;
  friend class detail::Splitting<FerrompiBackend>;
  friend class detail::NonblockingOperations<FerrompiBackend>;
  friend class CommBackend;

  static constexpr bool hashes_counts = false;  // only where MpiConfig::check asks for it

  explicit FerrompiBackend(std::shared_ptr<detail::MpiState> state);

  /// InvalidCommunicator once moved from.
  [[nodiscard]] const detail::MpiState& state(const char* operation) const;

  [[nodiscard]] std::optional<FerrompiBackend> make_part(const detail::Division& division) const;
  [[nodiscard]] detail::LaneSeed<FerrompiBackend> lane_seed(detail::Drive drive) const;

  /// Every call of <cobre/comm/detail/calls.hpp>; compiled in the library.
  template <class Call>
  void execute(const detail::OperationRecord& record, const Call& call) const;

  [[nodiscard]] detail::Mailbox& mailbox(const char* operation) const;
  [[nodiscard]] std::shared_ptr<detail::Mailbox> share_mailbox(const char* operation) const;

  std::shared_ptr<detail::MpiState> state_;  // operations under way hold it too; null once moved from
  std::size_t rank_ = 0;
  std::size_t size_ = 1;
};

using MpiChannel = BasicChannel<FerrompiBackend>;

}  // namespace cobre::comm
