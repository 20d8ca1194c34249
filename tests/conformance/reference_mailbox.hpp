// The plainest messages that can be written: one table of what was sent and not yet received, under one mutex. Nothing
// is brought to a receive before its owner hears of it, so a receive that is dropped has nothing to give back.
#pragma once

#include <cobre/comm.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/core/exclusive.hpp"
#include "conformance/reference_fault.hpp"

namespace conformance {

/// The messages of all ranks of a group.
class ReferencePost {
 public:
  using Envelope = cobre::comm::detail::Envelope;
  using Messages = std::deque<std::vector<std::byte>>;

  explicit ReferencePost(Fault planted) : fault(planted) {}

  /// From one rank to another by one name, in the order in which they were sent.
  Messages& between(std::size_t from, std::size_t to, const Envelope& envelope) {
    return messages_[{from, to, fault == Fault::TagIgnored ? 0 : envelope.tag,
                      fault == Fault::RealmsMeet ? cobre::comm::detail::Realm::Plain : envelope.realm}];
  }

  const Fault fault;
  std::mutex mutex;
  std::condition_variable came;

 private:
  std::map<std::tuple<std::size_t, std::size_t, std::int64_t, cobre::comm::detail::Realm>, Messages> messages_;
};

class ReferenceMailbox final : public cobre::comm::detail::Mailbox {
 public:
  using Transfer = cobre::comm::detail::Transfer;
  using Duration = std::chrono::nanoseconds;

  ReferenceMailbox(std::shared_ptr<ReferencePost> post, std::size_t rank, std::size_t size)
      : Mailbox(rank, size, std::numeric_limits<std::int64_t>::max()), post_(std::move(post)) {}

  void start(Transfer& transfer) override {
    const cobre::comm::core::Exclusive exclusive(busy_, where(transfer.operation));
    transfer.mailbox = this;
    const std::scoped_lock lock(post_->mutex);
    if (transfer.direction == Transfer::Direction::In) {
      transfer.state = Transfer::State::UnderWay;
      expected_.push_back(&transfer);
      return;
    }
    auto& messages = post_->between(rank(), transfer.envelope.peer, transfer.envelope);
    messages.emplace(post_->fault == Fault::MessagesOvertake ? messages.begin() : messages.end(), transfer.data,
                     transfer.data + transfer.bytes);
    transfer.state = Transfer::State::Done;
    post_->came.notify_all();
  }

  void finish(Transfer& transfer, Duration timeout) override {
    const cobre::comm::core::Exclusive exclusive(busy_, where(transfer.operation));
    if (timeout == cobre::comm::detail::as_configured) timeout = configured_timeout();
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock lock(post_->mutex);
    while (!is_over(transfer)) {
      if (transfer.envelope.peer == rank()) throw_nothing_from_self(where(transfer.operation), transfer);
      if (timeout == cobre::comm::detail::for_ever) {
        post_->came.wait(lock);
      } else if (const Duration waited = std::chrono::steady_clock::now() - begin; waited < timeout) {
        post_->came.wait_for(lock, timeout - waited);
      } else {
        throw cobre::comm::TimedOut(where(transfer.operation), std::chrono::duration<double>(waited).count(),
                                    {transfer.envelope.peer});
      }
    }
  }

  [[nodiscard]] bool test(Transfer& transfer) override {
    const cobre::comm::core::Exclusive exclusive(busy_, where(transfer.operation));
    const std::scoped_lock lock(post_->mutex);
    return is_over(transfer);
  }

  void abandon(Transfer& transfer) noexcept override {
    const std::scoped_lock lock(post_->mutex);
    if (post_->fault == Fault::DroppedReceiveTakesItsMessage) {
      auto& messages = post_->between(transfer.envelope.peer, rank(), transfer.envelope);
      if (transfer.state == Transfer::State::UnderWay && !messages.empty()) messages.pop_front();
    }
    std::erase(expected_, &transfer);
    transfer.state = Transfer::State::New;
  }

  /// Whoever waits for what a fault keeps from coming fails in time.
  [[nodiscard]] Duration configured_timeout() const noexcept override {
    return post_->fault == Fault::None ? cobre::comm::detail::for_ever : patience_with_a_fault;
  }

 private:
  /// Messages go to the receives of their channel in the order in which those were posted, and past those into which
  /// they do not fit.
  bool is_over(Transfer& transfer) {
    if (transfer.state == Transfer::State::Done) return true;
    auto& messages = post_->between(transfer.envelope.peer, rank(), transfer.envelope);
    auto next = messages.begin();
    for (const Transfer* const receive : expected_) {
      const bool same = &post_->between(receive->envelope.peer, rank(), receive->envelope) == &messages;
      if (!same) continue;
      if (next == messages.end()) return false;
      if (receive == &transfer) break;
      if (receive->fits(next->size())) ++next;
    }
    transfer.message_bytes = next->size();
    if (!transfer.fits(next->size())) {
      if (post_->fault == Fault::MisfitIsLost) messages.erase(next);
      throw_misfit(where(transfer.operation), transfer);
    }
    if (!next->empty()) std::memcpy(transfer.data, next->data(), next->size());
    messages.erase(next);
    std::erase(expected_, &transfer);
    transfer.state = Transfer::State::Done;
    return true;
  }

  std::shared_ptr<ReferencePost> post_;
  std::vector<Transfer*> expected_;  // in the order in which they were posted
  std::atomic<bool> busy_{false};
};

}  // namespace conformance
