// One rank of a job: everything behind a TcpBackend. Communicator and regions share it, so it lives as long as any of
// them.
#pragma once

#include <cobre/comm/local.hpp>
#include <cobre/comm/tcp.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/algorithms/mailroom.hpp"
#include "comm/algorithms/part_notes.hpp"
#include "comm/algorithms/scratch.hpp"
#include "comm/algorithms/tuning.hpp"
#include "comm/backends/tcp/hosts.hpp"
#include "comm/backends/tcp/ledger.hpp"
#include "comm/backends/tcp/rendezvous.hpp"
#include "comm/backends/tcp/sentinel.hpp"
#include "comm/backends/tcp/surroundings.hpp"
#include "comm/backends/tcp/wire.hpp"
#include "comm/core/backlog.hpp"
#include "comm/core/fork_guard.hpp"
#include "comm/core/kin.hpp"
#ifdef COBRE_COMM_HAS_SHM
#include "comm/backends/shm/endpoint.hpp"
#endif

namespace cobre::comm::tcp {

class Endpoint {
 public:
  explicit Endpoint(const TcpConfig& config);
  /// The endpoint of one part, before it is connected: see split().
  Endpoint(const std::shared_ptr<Endpoint>& whole, const detail::Division& division);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool leader() const noexcept;
  [[nodiscard]] const ExecutionTopology& topology() const noexcept { return topology_; }

  /// What every rank holds alike. Where one rank a host is on the network, only those measured what it costs.
  [[nodiscard]] const algorithms::Tuning& tuning() const noexcept {
    static const algorithms::Tuning unmeasured{};
    return hierarchical() ? unmeasured : tuning_;
  }

  template <class Call>
  void execute(const detail::OperationRecord& record, const Call& call);

  /// Collective: everyone is about to do this.
  void agree(const detail::OperationRecord& record);
  /// Collective: whether it worked everywhere; the lowest rank where it did not.
  [[nodiscard]] std::optional<std::size_t> first_failure(const detail::OperationRecord& record, bool worked);

  /// Collective: the endpoint of this rank's part of `whole`; null where it is of none. CollectiveFailed on every rank
  /// where the ranks of some part cannot reach each other.
  [[nodiscard]] static std::shared_ptr<Endpoint> split(const std::shared_ptr<Endpoint>& whole,
                                                       const detail::Division& division);

#ifdef COBRE_COMM_HAS_SHM
  [[nodiscard]] const std::shared_ptr<shm::Endpoint>& shared_memory() const noexcept {
    return shared_;
  }
#endif

  [[nodiscard]] detail::Mailbox& mailbox() noexcept;

  /// What operations of `self`, which is this, have to wait for: on the network, and in the memory of this host.
  [[nodiscard]] static std::vector<std::shared_ptr<core::Backlog>> backlogs(const std::shared_ptr<Endpoint>& self);

  [[noreturn]] void abort(int code) noexcept;

 private:
  void meet();
  /// One machine: no byte needs the network, and who dies is seen by the kernel.
  [[nodiscard]] bool on_one_host() const noexcept;
  void keep_facts(const Gathering& gathering);
#ifdef COBRE_COMM_HAS_SHM
  void share_memory(const std::function<void()>& check);
  /// Collective over the host. What AllocationFailed leaves behind is as good as before.
  [[nodiscard]] std::shared_ptr<shm::Endpoint> split_memory(const detail::Division& division);
#endif
  /// The network: the watch, and links to those that this rank needs. `check` throws where it has become pointless.
  [[nodiscard]] Outcome connect(Gathering gathering, const std::function<void()>& check);
  [[nodiscard]] Outcome connect_links(Clock::time_point deadline, const std::function<void()>& check);
  /// Requests and calls that wait stand in each other's way: tells those who are in the other kind.
  void tell_of_crossing(const Verdict& verdict);
  void open_mailroom(algorithms::MailNote& note);
  /// Once all are connected. `check` throws where a rank is gone that the network alone knows of.
  void complete(const std::function<void()>& check);

  /// Collective over the whole. What each rank says that it has opened.
  [[nodiscard]] std::vector<std::vector<Address::Wire>> gather_doors(const detail::OperationRecord& record,
                                                                     const std::vector<Address::Wire>& own);
  [[nodiscard]] Gathering open_doors(const detail::Division& division, bool networked, Outcome& outcome);
  void confirm_parts(const detail::Division& division, Outcome outcome);
  /// Collective over the whole: the ranks of each part find each other, in this rank's over the network or not.
  void connect_part(const detail::Division& division, Endpoint* part, bool networked);

  /// Runs one operation over the network. Whatever escapes from `body` ends the communicator, because others may rely
  /// on what it left undone.
  template <class Body>
  void perform(const detail::OperationRecord& record, Body&& body);
  void finish(const Verdict& otherwise) noexcept;

  void run(const detail::BarrierCall& call);
  void run(const detail::BroadcastCall& call);
  void run(const detail::AllreduceCall& call);
  void run(const detail::AllgathervCall& call);
  void run(const detail::GatherCall& call);
  void run(const detail::ScatterCall& call);
  void run(const detail::AlltoallCall& call);
  void run(const detail::ReduceCall& call);
  void run(const detail::ScanCall& call);
  void run(const detail::ReduceScatterCall& call);
  /// One rank a host on the network, the rest through shared memory, in reductions too.
  [[nodiscard]] bool hierarchical() const noexcept {
    return hosts_.step > 1;
  }
#ifdef COBRE_COMM_HAS_SHM
  void run_on_hosts(const detail::OperationRecord& record, const detail::BarrierCall& call);
  void run_on_hosts(const detail::OperationRecord& record, const detail::BroadcastCall& call);
  void run_on_hosts(const detail::OperationRecord& record, const detail::AllreduceCall& call);
  void run_on_hosts(const detail::OperationRecord& record, const detail::AllgathervCall& call);
  /// For the parts of an allgatherv that do not lie host by host in recv. AllocationFailed where there is none.
  [[nodiscard]] std::byte* room_to_pack(std::size_t bytes);
  /// Runs a step in the memory of this host; what fails there is said in the terms of the whole job.
  template <class Step>
  void on_host(const detail::OperationRecord& record, Step&& step);
#endif

  TcpConfig config_;  // but for the secret
  std::weak_ptr<Endpoint> whole_;
  std::size_t rank_;
  std::size_t size_;
  std::vector<std::size_t> job_ranks_;  // what each is called in the group from which all were split
  std::shared_ptr<core::Kin> kin_;      // all that were

  // What the ranks of parts need to find each other.
  std::vector<Member> members_;
  Key link_key_{};
  std::vector<Address> doors_;  // of this rank; ports do not count
  std::optional<Address> source_;
  std::uint64_t divisions_ = 0;

  Hosts hosts_;
  core::WaitPolicy policy_{};
  ExecutionTopology topology_;
  core::ForkGuard guard_;
  LocalBackend alone_;  // what a job of one rank does

#ifdef COBRE_COMM_HAS_SHM
  std::shared_ptr<shm::Endpoint> shared_;  // the ranks of this host; null where they do not share
#endif

  // What goes over the network; nothing of it where all ranks are on one host and share its memory.
  Ledger ledger_;
  algorithms::MadeBy made_ = algorithms::MadeBy::Nobody;  // of one that was split from another
  algorithms::FirstLeft first_left_;                      // in the group from which all were
  algorithms::NotedPart noted_;
  std::shared_ptr<Surroundings> surroundings_;
  std::shared_ptr<Surroundings> base_;               // of the one that this is a duplicate of
  bool runs_requests_ = false;                       // of that one
  std::vector<std::weak_ptr<Endpoint>> duplicates_;  // of this one
  std::unique_ptr<Sentinel> sentinel_;
  std::unique_ptr<Wire> wire_;
  std::vector<core::Descriptor> mail_links_;  // until the mailroom takes them
  std::unique_ptr<detail::Mailbox> mail_;     // null where all ranks are on one host and use its memory for that too
  algorithms::Tuning tuning_;
  algorithms::Scratch scratch_;
  struct {
    std::vector<std::size_t> host_bytes;
    std::vector<std::size_t> host_displs;
    std::vector<std::size_t> counts;  // of the ranks of this host, as the displacements
    std::vector<std::size_t> displs;
  } parts_;                     // of an allgatherv of hosts
  algorithms::Scratch packed_;  // for these; beside scratch_, which their exchange uses meanwhile
  detail::Operation current_ = detail::Operation::Barrier;
  std::uint64_t sequence_ = 0;
  std::uint64_t chain_ = 0;
  std::uint64_t streamed_ = 0;           // rooted operations since all ranks met
  std::optional<std::string> finished_;  // why, for later calls
  core::Backlog backlog_;
  std::atomic<bool> busy_{false};
};

}  // namespace cobre::comm::tcp
