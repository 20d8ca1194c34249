// The plainest multi-rank backend that can be written: threads, one mutex, no speed. It is here to test the suite:
// every case must pass on it, and fail on a copy of it with a fault.
#pragma once

#include <cobre/comm.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "conformance/reference_fault.hpp"
#include "conformance/reference_mailbox.hpp"

namespace conformance {

struct ReferenceGroup {
  ReferenceGroup(std::size_t ranks, Fault planted)
      : size(ranks), fault(planted), pointers(ranks), post(std::make_shared<ReferencePost>(planted)), parts(ranks) {}

  void wait() {
    std::unique_lock lock(mutex);
    const auto mine = generation;
    if (++arrived == size && !given_up) {
      arrived = 0;
      ++generation;
      everyone.notify_all();
      return;
    }
    const auto is_over = [&] { return generation != mine || given_up; };
    if (fault == Fault::None) {
      everyone.wait(lock, is_over);
    } else if (!everyone.wait_for(lock, 2 * patience_with_a_fault, is_over)) {
      given_up = true;
      everyone.notify_all();
    }
    if (generation == mine) throw std::runtime_error("a rank did not come, because of the fault");
  }

  std::size_t size;
  Fault fault;
  std::vector<const void*> pointers;
  std::shared_ptr<std::vector<std::byte>> region;
  std::shared_ptr<ReferencePost> post;
  std::vector<std::shared_ptr<ReferenceGroup>> parts;  // under the rank that makes it
  std::mutex mutex;
  std::condition_variable everyone;
  std::size_t arrived = 0;
  std::size_t generation = 0;
  bool given_up = false;
};

class ReferenceNode final : public cobre::comm::LocalCommunicator {
 public:
  ReferenceNode(std::shared_ptr<ReferenceGroup> group, std::size_t rank) : group_(std::move(group)), rank_(rank) {}
  std::size_t rank() const noexcept override { return rank_; }
  std::size_t size() const noexcept override { return group_->size; }
  void barrier() const override { group_->wait(); }

 private:
  std::shared_ptr<ReferenceGroup> group_;
  std::size_t rank_;
};

template <class T>
class ReferenceRegion {
 public:
  ReferenceRegion(std::shared_ptr<ReferenceGroup> group, std::size_t rank,
                  std::shared_ptr<std::vector<std::byte>> bytes)
      : group_(std::move(group)), rank_(rank), bytes_(std::move(bytes)) {}
  ReferenceRegion(ReferenceRegion&&) = default;
  ReferenceRegion& operator=(ReferenceRegion&&) = default;

  std::size_t size() const { return bytes_->size() / sizeof(T); }
  std::span<const T> as_span() const { return {reinterpret_cast<const T*>(bytes_->data()), size()}; }
  std::span<T> as_mut_span() { return rank_ == 0 ? everything() : std::span<T>(); }
  std::span<T> as_partition_span() {
    const std::size_t begin = size() * rank_ / group_->size;
    return everything().subspan(begin, size() * (rank_ + 1) / group_->size - begin);
  }
  void fence() const {
    if (group_->fault != Fault::FenceDoesNothing) group_->wait();
  }

 private:
  std::span<T> everything() { return {reinterpret_cast<T*>(bytes_->data()), size()}; }

  std::shared_ptr<ReferenceGroup> group_;
  std::size_t rank_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
};

class ReferenceBackend : public cobre::comm::detail::Collectives<ReferenceBackend>,
                         public cobre::comm::detail::PointToPointCalls<ReferenceBackend>,
                         public cobre::comm::detail::Splitting<ReferenceBackend> {
 public:
  template <class T>
  using Region = ReferenceRegion<T>;

  ReferenceBackend(std::shared_ptr<ReferenceGroup> group, std::size_t rank)
      : group_(std::move(group)),
        rank_(rank),
        mailbox_(std::make_shared<ReferenceMailbox>(group_->post, rank, group_->size)),
        previous_(std::make_unique<std::vector<std::byte>>()) {
    topology_.world_size = group_->size;
    topology_.hosts.push_back({"here", {}});
    for (std::size_t r = 0; r < group_->size; ++r) topology_.hosts[0].ranks.push_back(r);
    topology_.placements.assign(group_->size, {.cpus = 1, .sharers = group_->size, .numa_domains = {0}});
  }

  std::size_t rank() const noexcept { return rank_; }
  std::size_t size() const noexcept { return group_->size; }
  [[noreturn]] void abort(int code) const { std::_Exit(code); }
  const cobre::comm::ExecutionTopology& topology() const { return topology_; }
  bool is_leader() const { return rank_ == 0 || group_->fault == Fault::EverybodyIsLeader; }
  std::unique_ptr<cobre::comm::LocalCommunicator> split_local() const {
    return std::make_unique<ReferenceNode>(group_, rank_);
  }

  template <class T>
  Region<T> create_shared_region(std::size_t count, const cobre::comm::RegionOptions& = {}) const {
    const cobre::comm::Where where{"create_shared_region", rank_, group_->size};
    const std::size_t bytes = cobre::comm::detail::region_bytes(where, count, sizeof(T));
    if (bytes > std::size_t{1} << 40) throw cobre::comm::AllocationFailed(where, bytes, "too much");
    const auto fill = std::byte{group_->fault == Fault::RegionIsNotZeroFilled ? std::uint8_t{1} : std::uint8_t{0}};
    auto mine = std::make_shared<std::vector<std::byte>>(bytes, fill);
    if (rank_ == 0) group_->region = mine;
    group_->wait();
    auto shared = group_->fault == Fault::RegionIsNotShared ? mine : group_->region;
    group_->wait();
    return Region<T>(group_, rank_, std::move(shared));
  }

 private:
  friend class cobre::comm::detail::Collectives<ReferenceBackend>;
  friend class cobre::comm::detail::PointToPointCalls<ReferenceBackend>;
  friend class cobre::comm::detail::Splitting<ReferenceBackend>;
  using Record = cobre::comm::detail::OperationRecord;

  void require_good(std::string_view operation) const {
    if (broken_) throw cobre::comm::InvalidCommunicator({operation, rank_, group_->size}, "a callable threw");
  }

  void publish(const void* pointer) const {
    group_->pointers[rank_] = pointer;
    group_->wait();
  }

  void execute(const Record&, const cobre::comm::detail::BarrierCall&) const {
    require_good("barrier");
    if (group_->fault != Fault::BarrierDoesNothing) group_->wait();
  }

  void execute(const Record&, const cobre::comm::detail::BroadcastCall& call) const {
    require_good("broadcast");
    publish(call.buffer);
    const std::size_t root = group_->fault == Fault::BroadcastAlwaysFromRankZero ? 0 : call.root;
    const std::size_t bytes =
        group_->fault == Fault::BroadcastForgetsTheLastByte && call.bytes > 0 ? call.bytes - 1 : call.bytes;
    if (rank_ != root && bytes > 0) std::memcpy(call.buffer, group_->pointers[root], bytes);
    group_->wait();
  }

  void execute(const Record&, const cobre::comm::detail::AllreduceCall& call) const {
    require_good("allreduce");
    publish(call.send);
    auto sources = group_->pointers;
    if (group_->fault == Fault::ReductionForgetsTheLastRank && sources.size() > 1) sources.pop_back();
    if (group_->fault == Fault::ReductionSwapsItsArguments) std::reverse(sources.begin(), sources.end());
    std::vector<std::byte> result(call.count * call.element_size);
    if (group_->fault == Fault::ReductionInRankOrderInsteadOfTheTree) {
      if (!result.empty()) std::memcpy(result.data(), sources[0], result.size());
      for (std::size_t r = 1; r < sources.size(); ++r) {
        const void* const pair[] = {result.data(), sources[r]};
        call.fold().apply(result.data(), pair, 2, call.count);
      }
    } else {
      call.fold().apply(result.data(), sources.data(), sources.size(), call.count);
    }
    group_->wait();
    if (group_->fault == Fault::ReductionOfThePreviousCall) {
      previous_->swap(result);
      result.resize(call.count * call.element_size);
    }
    if (group_->fault == Fault::ReductionWritesIntoTheSendBuffer && !result.empty()) {
      std::memcpy(const_cast<void*>(call.send), result.data(), result.size());
    }
    if (!result.empty()) std::memcpy(call.recv, result.data(), result.size());
    if (group_->fault != Fault::KeepsGoingAfterACallableThrew && call.thrown != nullptr && *call.thrown) broken_ = true;
  }

  void execute(const Record&, const cobre::comm::detail::AllgathervCall& call) const {
    require_good("allgatherv");
    publish(call.send);
    auto* const out = static_cast<std::byte*>(call.recv);
    std::size_t next = 0;
    for (std::size_t r = 0; r < group_->size; ++r) {
      const std::size_t place = group_->fault == Fault::GatherIgnoresDisplacements ? next : call.displs[r];
      if (group_->fault == Fault::GatherClearsGaps && place > next) {
        std::memset(out + next * call.element_size, 0, (place - next) * call.element_size);
      }
      const std::size_t from =
          group_->fault == Fault::GatherMixesUpTwoRanks && call.counts[r] == call.counts[0] ? 0 : r;
      std::byte* const to = out + place * call.element_size;
      // In place a rank's own part is there already, and others may be reading it.
      if (call.counts[r] > 0 && to != group_->pointers[from]) {
        std::memmove(to, group_->pointers[from], call.counts[r] * call.element_size);
      }
      next = place + call.counts[r];
    }
    group_->wait();
  }

  static void copy(void* to, std::size_t to_element, const void* from, std::size_t from_element, std::size_t count,
                   std::size_t size) {
    if (count == 0) return;
    std::memcpy(static_cast<std::byte*>(to) + to_element * size,
                static_cast<const std::byte*>(from) + from_element * size, count * size);
  }
  [[nodiscard]] bool has(Fault fault) const { return group_->fault == fault; }

  void execute(const Record&, const cobre::comm::detail::GatherCall& call) const {
    require_good("gather");
    publish(call.send);
    const std::size_t root = has(Fault::GatherAlwaysToRankZero) ? 0 : call.root;
    for (std::size_t r = 0; r < group_->size && rank_ == root && rank_ == call.root; ++r) {
      copy(call.recv, call.parts.displ(r), group_->pointers[r], 0, call.parts.count(r), call.element_size);
    }
    group_->wait();
  }

  // Where only the root knows something, the others look into its call.
  void execute(const Record&, const cobre::comm::detail::ScatterCall& call) const {
    require_good("scatter");
    publish(&call);
    const auto& root = *static_cast<const cobre::comm::detail::ScatterCall*>(group_->pointers[call.root]);
    const std::size_t block = has(Fault::ScatterGivesEveryoneTheFirstBlock) ? 0 : rank_;
    copy(call.recv, 0, root.send, root.parts.displ(block), call.count, call.element_size);
    group_->wait();
  }

  void execute(const Record&, const cobre::comm::detail::AlltoallCall& call) const {
    require_good("alltoall");
    publish(&call);
    for (std::size_t r = 0; r < group_->size; ++r) {
      const auto& other = *static_cast<const cobre::comm::detail::AlltoallCall*>(group_->pointers[r]);
      const std::size_t part = has(Fault::AlltoallIsNotTransposed) && call.to.uniform() ? r : rank_;
      copy(call.recv, call.to.displ(r), other.send, other.from.displ(part), call.to.count(r), call.element_size);
    }
    group_->wait();
  }

  /// The fold over the first `ranks` of what all sent, from element `first` on.
  void fold_first(const cobre::comm::detail::AllreduceCall& call, std::size_t ranks, std::size_t first,
                  bool in_rank_order = false) const {
    publish(call.send);
    std::vector<const void*> sources;
    for (std::size_t r = 0; r < ranks; ++r) {
      sources.push_back(static_cast<const std::byte*>(group_->pointers[r]) + first * call.element_size);
    }
    if (in_rank_order && ranks > 0) {
      copy(call.recv, 0, sources[0], 0, call.count, call.element_size);
      for (std::size_t r = 1; r < ranks; ++r) {
        const void* const pair[] = {call.recv, sources[r]};
        call.fold().apply(call.recv, pair, 2, call.count);
      }
    } else if (ranks > 0) {
      call.fold().apply(call.recv, sources.data(), ranks, call.count);
    }
    group_->wait();
    if (call.thrown != nullptr && *call.thrown) broken_ = true;
  }

  void execute(const Record&, const cobre::comm::detail::ReduceCall& call) const {
    require_good("reduce");
    const std::size_t root = has(Fault::ReduceAlwaysToRankZero) ? 0 : call.root;
    fold_first(call, rank_ == root && rank_ == call.root ? group_->size : 0, 0);
  }
  void execute(const Record&, const cobre::comm::detail::ScanCall& call) const {
    require_good("scan");
    fold_first(call, has(Fault::ExscanIncludesTheRankItself) ? rank_ + 1 : call.sources(rank_), 0,
               has(Fault::ScanInRankOrderInsteadOfTheTree));
  }
  void execute(const Record&, const cobre::comm::detail::ReduceScatterCall& call) const {
    require_good("reduce_scatter_block");
    fold_first(call, group_->size, has(Fault::ReduceScatterGivesTheFirstBlock) ? 0 : rank_ * call.count);
  }

  cobre::comm::detail::Mailbox& mailbox(const char*) const { return *mailbox_; }
  std::shared_ptr<cobre::comm::detail::Mailbox> share_mailbox(const char*) const { return mailbox_; }

  /// The first rank of each part makes it, and the others find it there.
  std::optional<ReferenceBackend> make_part(const cobre::comm::detail::Division& division) const {
    std::vector<std::size_t> members;
    std::size_t own = division.rank;
    if (has(Fault::ColourIgnored)) {
      for (std::size_t r = 0; r < group_->size; ++r) members.push_back(r);
      own = rank_;
    } else if (division.part) {
      members = division.members();
      if (has(Fault::KeyIgnored)) {
        std::ranges::sort(members);
        own = static_cast<std::size_t>(std::ranges::find(members, rank_) - members.begin());
      }
    }
    if (!members.empty() && own == 0) {
      auto& part = group_->parts[rank_] = std::make_shared<ReferenceGroup>(members.size(), group_->fault);
      if (has(Fault::PartsShareTheirMessages)) part->post = group_->post;
    }
    group_->wait();
    const auto part = members.empty() ? nullptr : group_->parts[members.front()];
    group_->wait();  // before the next is made in its place
    if (part == nullptr) return std::nullopt;
    return ReferenceBackend(part, own);
  }

  std::shared_ptr<ReferenceGroup> group_;
  std::size_t rank_;
  std::shared_ptr<ReferenceMailbox> mailbox_;
  cobre::comm::ExecutionTopology topology_;
  mutable bool broken_ = false;
  std::unique_ptr<std::vector<std::byte>> previous_;
};

/// Makes the ranks of one group find each other by its name.
struct ReferenceRanks {
  using Communicator = ReferenceBackend;

  /// What the groups made from now on get wrong.
  static inline Fault planted = Fault::None;

  static Communicator make(std::size_t rank, std::size_t size, const std::string& name) {
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<ReferenceGroup>> groups;
    std::shared_ptr<ReferenceGroup> group;
    {
      const std::scoped_lock lock(mutex);
      group = groups[name].lock();
      if (!group) groups[name] = group = std::make_shared<ReferenceGroup>(size, planted);
    }
    group->wait();  // nobody leaves before the last has come, or the group would be made twice
    return Communicator(std::move(group), rank);
  }
};

}  // namespace conformance
