// The tcp backend: ranks on any machines, without MPI. Rank 0 is where they meet; afterwards they talk directly. Ranks
// on one machine share its memory.
#pragma once

#include <cobre/comm/channel.hpp>
#include <cobre/comm/concepts.hpp>
#include <cobre/comm/config.hpp>
#include <cobre/comm/detail/chosen_region.hpp>
#include <cobre/comm/detail/collectives.hpp>
#include <cobre/comm/detail/nonblocking.hpp>
#include <cobre/comm/detail/region_record.hpp>
#include <cobre/comm/detail/splitting.hpp>
#ifdef COBRE_COMM_HAS_SHM
#include <cobre/comm/shm.hpp>
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace cobre::comm {
namespace tcp {

class Endpoint;

}  // namespace tcp

/// Where the job's secret is. It is read once, at connect(), and appears in no message.
struct TcpSecret {
  std::string file;   // a file that only this user may read, or
  std::string value;  // the secret itself

  [[nodiscard]] bool empty() const noexcept { return file.empty() && value.empty(); }
};

struct TcpConfig {
  std::string coordinator;     // where rank 0 is: "host", "host:port", "[v6]:port"; the same on every rank, 0 included
  std::uint16_t port = 29500;  // where the coordinator's address has none
  std::size_t rank = 0;
  std::size_t size = 1;
  std::string bind_address;  // empty: the one that reaches the coordinator
  TcpSecret secret;          // required unless every address is loopback, or MUNGE stands in
  bool munge = false;        // MUNGE vouches that all ranks are processes of one user of one cluster
  std::string step;          // in a Slurm step: which. Ranks of another one are strangers, with the same secret too

  std::chrono::milliseconds connect_timeout{30000};  // for all ranks to come and reach each other
  std::chrono::milliseconds timeout{0};              // of one collective; 0 waits for ever
  std::chrono::milliseconds warn_after{10000};       // a rank that waits this long says for whom, then at doubled times
  std::chrono::milliseconds host_timeout{15000};     // a host that does not answer for this long is lost
  bool shared_memory = true;                         // ranks on one host use its memory

  // What `cobre-comm run` hands over, to say what a rank died in: a memory file where this rank keeps its journal, and
  // on rank 0 a socket through which ranks that only use shared memory let it look on.
  int ledger = -1;
  int witness = -1;

  /// COBRE_TCP_*, COBRE_COMM_TIMEOUT_SECS, and in a Slurm step what Slurm says.
  [[nodiscard]] static TcpConfig from_environment();
};

/// The pages that the ranks of a host share; each rank's own where they share none.
template <CommData T>
#ifdef COBRE_COMM_HAS_SHM
class TcpRegion : public detail::ChosenRegion<T, HeapRegion<T>, ShmRegion<T>> {
#else
class TcpRegion : public detail::ChosenRegion<T, HeapRegion<T>> {
#endif
 public:
  using TcpRegion::ChosenRegion::ChosenRegion;
};

class TcpBackend : public detail::Collectives<TcpBackend>,
                   public detail::PointToPointCalls<TcpBackend>,
                   public detail::Splitting<TcpBackend>,
                   public detail::NonblockingOperations<TcpBackend> {
 public:
  template <CommData T>
  using Region = TcpRegion<T>;

  /// Collective over the ranks that the configuration names. They may come in any order.
  [[nodiscard]] static TcpBackend connect(const TcpConfig& config);

  TcpBackend(TcpBackend&& other) noexcept;
  TcpBackend& operator=(TcpBackend&& other) noexcept;
  ~TcpBackend();

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Ends every rank: this one with the exit code, the others by signal.
  [[noreturn]] void abort(int code) const;

  /// Collective over all ranks. The same count and options on every rank.
  template <CommData T>
  [[nodiscard]] TcpRegion<T> create_shared_region(std::size_t count, const RegionOptions& options = {}) const {
    return make_region<T>(count, options);
  }

  /// Collective over the ranks of this host.
  [[nodiscard]] std::unique_ptr<LocalCommunicator> split_local() const;
  [[nodiscard]] bool is_leader() const noexcept { return leader_; }
  [[nodiscard]] const ExecutionTopology& topology() const;

 private:
  friend class detail::Collectives<TcpBackend>;
  friend class detail::PointToPointCalls<TcpBackend>;
  friend class CommBackend;
  friend class detail::Splitting<TcpBackend>;
  friend class detail::NonblockingOperations<TcpBackend>;

  explicit TcpBackend(std::shared_ptr<tcp::Endpoint> endpoint) noexcept;

  template <CommData T>
  [[nodiscard]] TcpRegion<T> make_region(std::size_t count, const RegionOptions& options) const {
    const Where where{"create_shared_region", rank_, size_};
    const detail::OperationRecord record = detail::region_record(count, sizeof(T), options);
    agree_on_region(record);
    std::unique_ptr<TcpRegion<T>> region;
    std::exception_ptr failure;
    try {
      (void)detail::region_bytes(where, count, sizeof(T));
#ifdef COBRE_COMM_HAS_SHM
      if (const auto shared = shared_memory()) {
        region =
            std::make_unique<TcpRegion<T>>(ShmRegion<T>(shm::RegionBlock(shared, count, sizeof(T), options), count));
      }
#endif
      if (region == nullptr) region = std::make_unique<TcpRegion<T>>(HeapRegion<T>(where, count, options));
    } catch (const AllocationFailed&) {
      failure = std::current_exception();
    }
    agree_on_outcome(record, count * sizeof(T), failure);
    return std::move(*region);
  }

  void agree_on_region(const detail::OperationRecord& record) const;
  void agree_on_outcome(const detail::OperationRecord& record, std::size_t bytes,
                        const std::exception_ptr& failure) const;
#ifdef COBRE_COMM_HAS_SHM
  /// What the ranks of this host share; null where they share nothing.
  [[nodiscard]] std::shared_ptr<shm::Endpoint> shared_memory() const;
#endif

  [[nodiscard]] std::optional<TcpBackend> make_part(const detail::Division& division) const;
  [[nodiscard]] detail::LaneSeed<TcpBackend> lane_seed(detail::Drive) const;

  /// Every call of <cobre/comm/detail/calls.hpp>; compiled in the library.
  template <class Call>
  void execute(const detail::OperationRecord& record, const Call& call) const;

  [[nodiscard]] detail::Mailbox& mailbox(const char* operation) const;
  [[nodiscard]] std::shared_ptr<detail::Mailbox> share_mailbox(const char* operation) const;

  std::shared_ptr<tcp::Endpoint> endpoint_;  // null once moved from
  std::size_t rank_ = 0;
  std::size_t size_ = 1;
  bool leader_ = true;
};

using TcpChannel = BasicChannel<TcpBackend>;

}  // namespace cobre::comm
