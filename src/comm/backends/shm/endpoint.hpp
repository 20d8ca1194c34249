// One rank of a group: everything behind a ShmBackend. Communicator, regions and local communicators share it, so it
// lives as long as any of them.
#pragma once

#include <cobre/comm/shm.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "comm/backends/shm/channel.hpp"
#include "comm/backends/shm/mail.hpp"
#include "comm/backends/shm/part_copies.hpp"
#include "comm/backends/shm/reach.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#include "comm/backends/shm/ring.hpp"
#include "comm/backends/shm/stream.hpp"
#include "comm/core/backlog.hpp"
#include "comm/core/fork_guard.hpp"
#include "comm/core/kin.hpp"

namespace cobre::comm::shm {

class Delivery;

class Endpoint {
 public:
  Endpoint(const ShmConfig& config, Gathering gathering);
  /// The endpoint of one part; `split` has handed round what it stands on.
  Endpoint(const Endpoint& whole, const detail::Division& division, Gathering gathering);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint();

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool single_copy() const noexcept { return single_copy_; }
  [[nodiscard]] const ExecutionTopology& topology() const noexcept { return topology_; }
  [[nodiscard]] const Peers& peers() const noexcept { return peers_; }
  [[nodiscard]] detail::Mailbox& mailbox() noexcept { return mailroom_; }
  [[nodiscard]] bool in_child() const noexcept { return guard_.in_child(); }

  void barrier(const detail::OperationRecord& record);
  void broadcast(const detail::OperationRecord& record, const detail::BroadcastCall& call);
  void allreduce(const detail::OperationRecord& record, const detail::AllreduceCall& call);
  void allgatherv(const detail::OperationRecord& record, const detail::AllgathervCall& call);

  void execute(const detail::OperationRecord& record, const detail::BarrierCall&) { barrier(record); }
  void execute(const detail::OperationRecord& record, const detail::BroadcastCall& call) { broadcast(record, call); }
  void execute(const detail::OperationRecord& record, const detail::AllreduceCall& call) { allreduce(record, call); }
  void execute(const detail::OperationRecord& record, const detail::AllgathervCall& call) { allgatherv(record, call); }
  void execute(const detail::OperationRecord& record, const detail::GatherCall& call);
  void execute(const detail::OperationRecord& record, const detail::ScatterCall& call);
  void execute(const detail::OperationRecord& record, const detail::AlltoallCall& call);
  void execute(const detail::OperationRecord& record, const detail::ReduceCall& call);
  void execute(const detail::OperationRecord& record, const detail::ScanCall& call);
  void execute(const detail::OperationRecord& record, const detail::ReduceScatterCall& call);

  /// Collective: shared pages, the same on every rank, or AllocationFailed on every rank.
  struct NewRegion {
    std::uint32_t serial;
    const void* readable;
    void* writable;
  };
  [[nodiscard]] NewRegion create_region(const Where& where, const detail::OperationRecord& record, std::size_t bytes,
                                        const RegionOptions& options);
  void drop_region(std::uint32_t serial) noexcept { regions_.remove(serial); }

  /// Collective: a group of its own for every part; null where this rank is of none. AllocationFailed on every rank
  /// where one of them cannot be had.
  [[nodiscard]] std::shared_ptr<Endpoint> split(const detail::Division& division);
  /// How long an operation may wait, and from when on it says for whom.
  void set_patience(std::chrono::milliseconds timeout, std::chrono::milliseconds warn_after) noexcept {
    settings_.timeout = timeout;
    settings_.warn_after = warn_after;
    channel_.set_patience(timeout, warn_after);
    mailroom_.pipes().set_patience(timeout, warn_after);
  }

  /// Where these ranks are some of a larger job that watches over its own operations: what they are called there, the
  /// patience of what concerns them alone, and where that job looks for their fences.
  void belong_to(const std::vector<std::size_t>& names, std::size_t all_ranks, std::chrono::milliseconds timeout,
                 std::chrono::milliseconds warn_after, algorithms::FirstLeft first,
                 std::shared_ptr<core::Aside> fences) {
    channel_.set_names(names, all_ranks);
    first_left_ = std::move(first);
    fences_ = std::move(fences);
    alone_ = settings_;
    alone_->timeout = timeout;
    alone_->warn_after = warn_after;
  }
  /// What these ranks are called among those communicators, which shall hear whom this rank missed here, or in anything
  /// that was split from it.
  void tell_of_failures(const std::shared_ptr<core::Kin>& others, std::vector<std::size_t> names) {
    kin_->join(others.get(), job_ranks_,
               [others, names = std::move(names)](std::size_t rank) { others->blame(names[rank]); });
  }
  /// Of an operation that the larger job knows nothing of.
  [[nodiscard]] const Channel::Settings& settings_alone() const noexcept { return alone_ ? *alone_ : settings_; }
  /// These ranks were made of others by that operation: from now on the launcher is told what they are in.
  void be_noted(algorithms::MadeBy how, algorithms::FirstLeft first) {
    first_left_ = std::move(first);
    channel_.be_noted({algorithms::PartTable::of_this_process(), how, rank_, size_, first_left_});
  }
  [[nodiscard]] const algorithms::FirstLeft& first_left() const noexcept { return first_left_; }
  /// That of `self`, which is this.
  [[nodiscard]] static std::shared_ptr<core::Backlog> backlog(const std::shared_ptr<Endpoint>& self) noexcept {
    return {self, &self->backlog_};
  }
  void fence(const detail::OperationRecord& record);
  [[nodiscard]] Where where(std::string_view operation) const noexcept { return channel_.where(operation); }

  /// From any thread: everyone in this group shall stop waiting.
  void interrupt(Channel::Reason why) noexcept { channel_.interrupt(std::move(why)); }
  /// That rank failed: all communicators that have it are told whom this rank missed, should it give up.
  void miss(std::size_t rank) noexcept { kin_->blame(job_ranks_[rank]); }
  [[noreturn]] void abort(int code) noexcept;

 private:
  Endpoint(const ShmConfig& config, Gathering gathering, const Endpoint* whole, std::vector<std::size_t> job_ranks);

  /// Runs one operation. Whatever escapes from `body` ends the communicator, because others may rely on what it left
  /// undone.
  template <class Body>
  void perform(const detail::OperationRecord& record, Body&& body);
  /// The same for a body that folds: it is left where the user's callable throws, because a result that is not finished
  /// must not be shown to others.
  template <class Body>
  void perform_reduction(const detail::OperationRecord& record, Body&& body);
  /// The values of the first `ranks`, wherever sources_ says that they are.
  void fold(const detail::AllreduceCall& call, void* into, std::size_t count, std::size_t ranks);

  /// Every rank shows the others a few bytes.
  template <class Payload>
  requires(std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= inline_bytes) void post(const Payload& payload) {
    channel_.publish(channel_.open_post(), &payload, sizeof(Payload));
  }
  template <class Payload>
  [[nodiscard]] Payload payload_of(std::size_t rank) const noexcept {
    Payload payload;
    std::memcpy(&payload, channel_.post_of(rank).payload.data(), sizeof(Payload));
    return payload;
  }
  template <class Payload>
  [[nodiscard]] std::vector<Payload> exchange(const detail::OperationRecord& record, const Payload& payload);

  void try_single_copy(bool wanted);
  void try_ways();

  /// Room in this rank's buffer for what it shows the others in this operation.
  [[nodiscard]] std::byte* room_to_show(std::size_t bytes) {
    (void)channel_.open_post();
    return bytes <= largest_small_message ? small_ring_.take(channel_, bytes) : ring_.take(channel_, bytes);
  }
  /// Fills it, and what else others read next.
  void show(std::byte* room, const void* data, std::size_t bytes, bool stream) const noexcept {
    if (stream && bytes > largest_small_message) {
      copy_past_caches(room, data, bytes);
    } else if (bytes > 0) {
      std::memcpy(room, data, bytes);
    }
  }
  [[nodiscard]] Word offset_of(const std::byte* place) const noexcept {
    return static_cast<Word>(place - buffer_of(rank_));
  }
  /// Data that another rank put into its buffer; throws where it claims to lie outside.
  [[nodiscard]] const std::byte* shown_by(std::size_t rank, Word offset, std::size_t bytes);
  [[noreturn, gnu::cold]] void throw_corrupt(std::size_t rank) const;
  [[nodiscard]] std::byte* buffer_of(std::size_t rank) const noexcept {
    return segment_.data() + agreement_.buffer_offset + rank * agreement_.buffer_bytes;
  }
  [[nodiscard]] std::byte* ring_of(std::size_t rank) const noexcept { return buffer_of(rank) + small_ring_bytes; }
  void expose(const void* send, void* recv, std::size_t send_bytes, std::size_t recv_bytes);
  /// The exposures of all ranks, once all are known to be in this operation; regions that not all have are taken out.
  [[nodiscard]] const std::vector<Exposure>& exposures();
  /// From here on what all give to all is read where it lies.
  [[nodiscard]] std::size_t exchanged_bytes() const noexcept {
    return kernel_exchanges_ ? std::min(agreement_.exposed_bytes, agreement_.exchanged_bytes)
                             : agreement_.exchanged_bytes;
  }

  /// Whether long values are folded from where they lie, and not through the rings.
  [[nodiscard]] bool reduces_from_origin() const noexcept {
    return single_copy_ && (agreement_.kernel_reduces || peers_.all_in_this_process());
  }

  /// Bytes of each rank in one block of a reduction through the rings, which hold two blocks of values and two of
  /// results; none where ranks are many and rings tiny.
  [[nodiscard]] std::size_t share_of_block() const noexcept {
    return ring_.bytes() / (2 * (size_ + 1)) / line_bytes * line_bytes;
  }

  void reduce_inline(const detail::AllreduceCall& call);
  void reduce_one_shot(const detail::AllreduceCall& call);
  void reduce_two_shot(const detail::AllreduceCall& call);
  void reduce_in_place_of_origin(const detail::AllreduceCall& call, const std::vector<Exposure>& all);
  void reduce_through_rings(const detail::AllreduceCall& call);

  void fetch_together(const detail::AllgathervCall& call, const std::vector<Exposure>& all);
  template <class BytesOf, class PlaceOf>
  void gather_through_rings(std::byte* own, const void* send, BytesOf bytes_of, PlaceOf place_of);
  template <class FoldOne>
  void gather_huge_elements(const detail::AllreduceCall& call, std::size_t count, FoldOne fold_one);

  class Deliverer;
  void deliver(const detail::OperationRecord& record, const Delivery& delivery);
  template <class WishOf>
  class Folder;
  template <class WishOf>
  void fold_shown(const detail::OperationRecord& record, const detail::AllreduceCall& call, std::size_t shown,
                  const WishOf& wish_of);

  [[nodiscard]] bool reader_is_reached(const Exposure& root, const Exposure& reader) const noexcept;
  [[nodiscard]] std::size_t written_by_root(std::size_t bytes) const noexcept;
  void broadcast_as_root(const detail::BroadcastCall& call);
  void broadcast_as_reader(const detail::BroadcastCall& call);

  ShmConfig config_;
  std::size_t rank_;
  std::size_t size_;
  Mapping segment_;
  Peers peers_;
  std::shared_ptr<const Peers> job_;    // the ranks of the group from which all others were split
  std::vector<std::size_t> job_ranks_;  // what these are called there
  algorithms::FirstLeft first_left_;    // in that group
  std::shared_ptr<core::Kin> kin_;
  std::vector<core::Descriptor> links_;
  Agreement agreement_;
  Channel::Settings settings_;
  std::optional<Channel::Settings> alone_;
  std::shared_ptr<core::Aside> fences_;  // as that job sees them
  core::ForkGuard guard_;
  Channel channel_;
  Regions regions_;
  Mailroom mailroom_;
  Ring small_ring_;
  Ring ring_;
  Reach reach_;
  CopyEnds copies_;
  bool single_copy_ = false;
  bool stream_rooted_ = false;  // what others read next goes past the caches
  bool stream_symmetric_ = false;
  bool kernel_exchanges_ = false;  // what all give to all is sooner read where it lies than in rings
  ExecutionTopology topology_;

  // Taken once, so that operations do not allocate.
  std::vector<const void*> sources_;
  std::vector<Exposure> exposures_;
  struct Scratch;
  std::unique_ptr<Scratch> scratch_;
  core::Backlog backlog_;
  std::atomic<bool> busy_{false};
};

}  // namespace cobre::comm::shm
