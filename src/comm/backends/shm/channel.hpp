// One communicator's conversation in shared memory: posting what this rank brings into an operation, waiting for what
// the others bring, and finding out why they do not.
//
// An operation runs enter … open_post, publish, await_post(s) … leave. docs/shm-protocol.md holds the whole argument;
// the comments here name the pairs.
#pragma once

#include <cobre/comm/detail/operation.hpp>
#include <cobre/comm/errors.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/algorithms/part_notes.hpp"
#include "comm/backends/shm/layout.hpp"
#include "comm/backends/shm/peers.hpp"
#include "comm/core/chain.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/disagreement.hpp"
#include "comm/core/fiber.hpp"
#include "comm/core/waiting.hpp"

namespace cobre::comm::shm {

class Channel {
 public:
  struct Settings {
    core::WaitPolicy policy;
    bool asymmetric_fences;
    std::chrono::milliseconds timeout;  // 0: never
    std::chrono::milliseconds warn_after;
  };

  Channel(ChannelBlock& block, std::size_t rank, std::size_t size, const Peers& peers,
          const Settings& settings) noexcept
      : block_(block), rank_(rank), size_(size), peers_(peers), settings_(settings), mine_(block.rank(rank)) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Word sequence() const noexcept { return sequence_; }
  [[nodiscard]] Where where() const noexcept { return where(detail::to_string(record_.operation)); }
  [[nodiscard]] Where where(std::string_view operation) const noexcept {
    return {operation, name_of(rank_), names_.empty() ? size_ : all_ranks_};
  }

  /// Where these ranks are some of a larger job, errors and warnings call them what they are called there.
  void set_names(std::vector<std::size_t> names, std::size_t all_ranks) noexcept {
    names_ = std::move(names);
    all_ranks_ = all_ranks;
  }
  [[nodiscard]] std::size_t name_of(std::size_t rank) const noexcept { return names_.empty() ? rank : names_[rank]; }

  /// Begins an operation. Throws where the communicator is finished, with the reason the first time.
  void enter(const detail::OperationRecord& record) {
    record_ = record;
    if (has_verdict()) [[unlikely]]
      refuse_to_enter();
    record_.sequence = ++sequence_;
    chain_ = core::extend(chain_, record);
    chains_[sequence_ % record_depth] = chain_;
    if (base_ != nullptr) [[unlikely]]
      note_beside();
  }

  /// The post of this operation, free to be filled: every rank has left the operation that used it before.
  [[nodiscard]] Post& open_post() {
    // A root that streams hits this every half ring only; others always know more than enough from the posts they saw.
    if (sequence_ > all_left_ + post_depth) [[unlikely]]
      await_all_left(sequence_ - post_depth / 2);
    core::crash_point<"shm.post_opened">();
    return mine_.posts[sequence_ % post_depth];
  }

  /// With a payload. Whoever polls this line takes it away as soon as any part of it changes, so all of it is stored in
  /// one go: nothing that takes time, such as a call, stands between the first store and the last.
  void publish(Post& post, const void* payload, std::size_t bytes) noexcept {
    const auto* from = static_cast<const std::byte*>(payload);
    std::byte* to = post.payload.data();
    for (; bytes >= sizeof(Word); bytes -= sizeof(Word), from += sizeof(Word), to += sizeof(Word)) {
      std::memcpy(to, from, sizeof(Word));
    }
    for (; bytes > 0; --bytes) *to++ = *from++;
    publish(post);
  }
  void publish(Post& post) noexcept {
    post.chain.store(chain_, std::memory_order_relaxed);
    publish(post.sequence, sequence_);
    announce();
  }

  /// Makes everything that this rank wrote before visible to whoever sees the word at `value`: pairs with the acquire
  /// in wait(). Every word that others wait for is stored here, because its owner's bell must be looked at.
  void publish(std::atomic<Word>& word, Word value) noexcept {
    word.store(value, std::memory_order_release);
    ring_own_bell();
  }

  /// After any other store that somebody may wait for.
  void ring_own_bell() noexcept { mine_.bell.ring(settings_.asymmetric_fences); }

  /// What that rank brought into this operation; throws CollectiveMismatch where it is in another one.
  [[nodiscard]] const Post& await_post(std::size_t rank) {
    const Post& post = block_.rank(rank).posts[sequence_ % post_depth];
    announce();
    core::crash_point<"shm.awaiting_post">();
    wait(post.sequence, sequence_, rank);
    core::crash_point<"shm.post_seen">();
    if (post.sequence.load(std::memory_order_relaxed) != sequence_ ||
        post.chain.load(std::memory_order_relaxed) != chain_) [[unlikely]]
      disagree();
    return post;
  }

  /// A root that streams may have posted the next operation already: fetches its line while this one is worked on. If
  /// it has not, the stale copy is still here and nothing moves.
  void expect_next(std::size_t rank) const noexcept {
    __builtin_prefetch(&block_.rank(rank).posts[(sequence_ + 1) % post_depth]);
  }

  /// Everyone's; and so everyone is known to have left the operations before.
  void await_posts() {
    if (settings_.policy.shares_cores()) [[unlikely]]
      come_together();
    for (std::size_t step = 1; step < size_; ++step) (void)await_post(peer(step));
    saw_all_posts();
  }
  /// For who awaited them one by one.
  void saw_all_posts() noexcept { all_left_ = sequence_ - 1; }

  [[nodiscard]] const Post& post_of(std::size_t rank) const noexcept {
    return block_.rank(rank).posts[sequence_ % post_depth];
  }

  /// Returns once every other rank has left operation `sequence`: what it read there may be overwritten.
  void await_all_left(Word sequence);
  /// Up to which operation that is known already.
  [[nodiscard]] Word all_left() const noexcept { return all_left_; }

  /// A reader loads the sequence s, the chain at the parity of s, and the sequence again. If that still is s, the chain
  /// belongs to it: the next chain at this parity is that of s + 2, its store releases the sequence s + 1 before it,
  /// and who acquires it would have seen that.
  void leave() noexcept {
    mine_.finished.chain[sequence_ % 2].store(chain_, std::memory_order_release);
    publish(mine_.finished.sequence, sequence_);
    if (noted_) [[unlikely]]
      note_left();
  }
  /// An exception passes through the operation.
  void leave_by_exception() noexcept {
    if (!noted_) return;
    announce();
    noted_.leave_by_exception(sequence_);
  }
  /// Of a communicator that was made of another one: the launcher does not see this memory, so it is told.
  void be_noted(algorithms::NotedPart note) noexcept { noted_ = std::move(note); }

  /// Of a duplicate: requests and plans of the communicator in `base` run here, with the same ranks.
  void stand_beside(std::shared_ptr<ChannelBlock> base) noexcept { base_ = std::move(base); }
  [[nodiscard]] ChannelBlock& block() const noexcept { return block_; }

  /// Steps inside an operation. All ranks count them alike: an operation of n steps moves the base by n everywhere.
  void take_steps(Word count) noexcept { steps_ += count; }
  [[nodiscard]] algorithms::MailNote& mail_note() noexcept { return noted_ ? noted_.mail() : mine_.mail; }
  void publish_filled(Word step) noexcept { publish(mine_.filled.value, steps_ + step); }
  void publish_drained(Word step) noexcept { publish(mine_.drained.value, steps_ + step); }
  void await_filled(std::size_t rank, Word step) {
    core::crash_point<"shm.awaiting_filled">();
    wait(block_.rank(rank).filled.value, steps_ + step, rank);
    core::crash_point<"shm.filled_seen">();
  }
  void await_drained(std::size_t rank, Word step) {
    core::crash_point<"shm.awaiting_drained">();
    wait(block_.rank(rank).drained.value, steps_ + step, rank);
    core::crash_point<"shm.drained_seen">();
  }

  /// The end of an operation in which everyone reads the buffers of everyone: they are the others' until all have read.
  void drain_together(Word steps) {
    publish_drained(steps);
    for (std::size_t step = 1; step < size_; ++step) await_drained(peer(step), steps);
    take_steps(steps);
  }

  /// The rank `step` places after this one: everyone starts with another peer, so that no line is stormed.
  [[nodiscard]] std::size_t peer(std::size_t step) const noexcept {
    const std::size_t rank = rank_ + step;
    return rank < size_ ? rank : rank - size_;
  }

  /// Spins, yields, sleeps until the word has reached `value`; it is written by `rank`. Throws where that cannot
  /// happen.
  void wait(const std::atomic<Word>& word, Word value, std::size_t rank) {
    if (word.load(std::memory_order_acquire) >= value) return;
    // Who has something else to do does not spin.
    const std::uint32_t spins = core::footing() == core::Footing::Fiber ? 0 : settings_.policy.spins;
    for (std::uint32_t turn = spins; turn > 0; --turn) {
      core::pause();
      if (word.load(std::memory_order_acquire) >= value) [[likely]]
        return;
    }
    wait_patiently(word, value, rank);
  }

  [[nodiscard]] RankBlock& block_of(std::size_t rank) noexcept { return block_.rank(rank); }

  /// Messages fail between two ranks, without a verdict for all; and another communicator may fail, without a verdict
  /// for this one. If this rank leaves because of that, whoever misses it is told of the rank that it missed itself:
  /// the first one.
  void blame(std::size_t rank) noexcept {
    // Relaxed: depart() releases it, and of a rank that dies instead nothing but this word is looked at.
    std::uint32_t none = 0;
    if (rank != rank_) {
      mine_.blamed.compare_exchange_strong(none, static_cast<std::uint32_t>(rank + 1), std::memory_order_relaxed);
    }
  }
  /// Called with the rank that failed, when this rank is told of it.
  void on_failure(std::function<void(std::size_t)> call) { on_failure_ = std::move(call); }
  [[nodiscard]] bool has_left(std::size_t rank) const noexcept {
    // Pairs with the release in depart(): all that the rank ever published is visible after it.
    return block_.rank(rank).presence.load(std::memory_order_acquire) == static_cast<std::uint32_t>(Presence::Left);
  }
  /// The rank itself, or the one because of which it left, or died: the latter may have another reason, so the one that
  /// it blamed must be gone too.
  [[nodiscard]] std::size_t culprit_behind(std::size_t rank) const noexcept {
    for (std::size_t hops = 0; hops < size_; ++hops) {
      const bool left = has_left(rank);
      const std::uint32_t blamed = block_.rank(rank).blamed.load(std::memory_order_relaxed);
      if (blamed == 0 || blamed > size_) return rank;
      const std::size_t culprit = blamed - 1;
      if (!left && !has_left(culprit) && peers_.alive(culprit)) return rank;
      rank = culprit;
    }
    return rank;
  }

  /// For what is no operation of all: throws where the communicator is finished, with the reason the first time.
  void require_no_verdict(const Where& where) {
    if (has_verdict()) [[unlikely]]
      refuse(where);
  }

  [[nodiscard]] bool has_verdict() const noexcept {
    return block_.verdict.state.load(std::memory_order_acquire) != 0 || finished_;
  }

  /// Throws where there is a verdict. Sequentially consistent: see Reading.
  void check_verdict() {
    if (block_.verdict.state.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      conclude();
  }

  /// The operation in progress failed on this rank: whatever others still expect from it will not come. Keeps the first
  /// reason, publishes it unless there is a verdict already, and makes every later call fail at once.
  void finish(const std::string& reason) noexcept;
  /// The user's reduction threw on this rank, so that its share of the result does not exist.
  void finish_because_reduction_threw() noexcept;
  [[nodiscard]] bool finished() const noexcept { return finished_.has_value(); }
  /// From any thread: whatever this group works for is finished, and everyone in it shall stop waiting. `why` throws
  /// the reason; the other processes have it from their own watch.
  using Reason = std::function<void(const Where& where)>;
  void interrupt(Reason why) noexcept;

  /// Where ranks of a larger job disagree, and some of them are in an operation of all: throws what that job says.
  void await_judgement_of_all(const Where& where);

  /// What another rank has for this one is not as long as it should be: tells everyone, and throws.
  [[noreturn]] void disagree_on_length(const core::LengthMismatch& mismatch);

  /// A peer could not be reached though its flag was there: waits for the proof of its death, then throws.
  [[noreturn]] void throw_unreachable(std::size_t rank, int error);

  void set_timeout(std::chrono::milliseconds timeout) noexcept { settings_.timeout = timeout; }
  void set_patience(std::chrono::milliseconds timeout, std::chrono::milliseconds warn_after) noexcept {
    settings_.timeout = timeout;
    settings_.warn_after = warn_after;
  }

  /// Says goodbye: no later operation will see this rank.
  void depart() noexcept;

 private:
  /// Writes down what this rank is in, for whoever needs to know why it waits in vain: before any wait, but not before
  /// the others have what they wait for.
  void announce() noexcept {
    if (announced_ != sequence_) note_record();
  }
  void note_record() noexcept;
  void note_left() noexcept;
  void note_beside() noexcept;
  [[nodiscard]] std::optional<RecordCopy> record_of(std::size_t rank, Word sequence) const noexcept;
  [[nodiscard]] bool has_entered(std::size_t rank, Word sequence) const noexcept;

  void come_together() noexcept;
  void wait_patiently(const std::atomic<Word>& word, Word value, std::size_t rank);
  void sleep_once(const std::atomic<Word>& word, Word value, std::size_t rank, std::chrono::nanoseconds longest);

  // verdict.cpp
  [[noreturn]] void refuse_to_enter() { refuse(where()); }
  [[noreturn]] void refuse(const Where& where);
  [[noreturn]] void disagree();
  [[noreturn]] void conclude() { conclude(where()); }
  [[noreturn]] void conclude(const Where& where);
  void throw_why(const Where& where);
  void check_for_failure(const std::atomic<Word>& word, Word value);
  void check_for_disagreement();
  void check_base();
  [[nodiscard]] std::optional<core::Disagreement> crossing() const;
  [[noreturn]] void disagree(const core::Disagreement& disagreement);
  [[noreturn]] void time_out(std::size_t awaited, double seconds);
  template <class Fill>
  void pronounce(Fill&& fill) noexcept {
    pronounce_in(block_, fill);
  }
  template <class Fill>
  void pronounce_in(ChannelBlock& block, const Fill& fill) noexcept;
  void pronounce_failure(const FailedPeer& failed) noexcept;
  [[nodiscard]] const Verdict* read_verdict() noexcept;
  [[nodiscard]] RankSet missing(std::size_t awaited) const noexcept;
  [[nodiscard]] std::string explain(const Verdict& verdict) const;
  [[nodiscard]] std::vector<std::size_t> names_of(const RankSet& ranks) const;
  [[nodiscard]] FailedPeer obituary(std::size_t rank) const;
  [[nodiscard]] std::string situation() const;
  [[nodiscard]] bool speaks_for_waiting() const noexcept;
  [[nodiscard]] bool may_warn(std::chrono::steady_clock::duration waited) noexcept;

  ChannelBlock& block_;
  std::size_t rank_;
  std::size_t size_;
  const Peers& peers_;
  Settings settings_;
  RankBlock& mine_;

  Word sequence_ = 0;  // of the last operation that was entered; the same number means the same operation on all ranks
  Word announced_ = 0;
  Word chain_ = 0;
  Word all_left_ = 0;  // every other rank has left this operation and all before
  Word steps_ = 0;
  Word timed_ = ~Word{0};  // the operation that the next three are about
  std::chrono::steady_clock::time_point began_to_wait_{};
  std::chrono::steady_clock::duration next_warning_{};
  Word warnings_ = 0;
  std::array<Word, record_depth> chains_{};
  detail::OperationRecord record_;
  algorithms::NotedPart noted_;
  std::shared_ptr<ChannelBlock> base_;   // null where this is no duplicate
  std::optional<std::string> finished_;  // why, for later calls
  std::function<void(std::size_t)> on_failure_;
  std::vector<std::size_t> names_;  // by rank; none where that is the name
  std::size_t all_ranks_ = 0;
  std::mutex interruption_;
  std::condition_variable interrupted_;
  Reason why_;  // under the lock
};

}  // namespace cobre::comm::shm
