// A transport whose ranks are threads of the test. It is stricter than any real one:
//  - a message must be received by one call, with the length with which it was sent;
//  - buffering is bounded, or there is none at all: then a send waits until its message is received;
//  - a deadlock is found out the moment it happens, not by a timeout.
// No receive names several possible senders, so whether a set of ranks deadlocks does not depend on which of them is
// faster: one run without buffers shows it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cobre::comm::test {

class Deadlock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ThreadNetwork {
 public:
  /// Without buffers, `buffer_bytes` is 0. Otherwise as many bytes may be under way from one rank to another.
  ThreadNetwork(std::size_t ranks, std::size_t buffer_bytes)
      : ranks_(ranks), buffer_bytes_(buffer_bytes), links_(ranks * ranks), waiters_(ranks) {
    for (std::size_t r = 0; r < ranks; ++r) waiters_[r] = std::make_unique<Waiter>();
  }

  /// One rank's end, and what went through it.
  class Transport {
   public:
    Transport(ThreadNetwork& network, std::size_t rank) : network_(network), rank_(rank) {}

    [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
    [[nodiscard]] std::size_t size() const noexcept { return network_.ranks_; }

    void send(std::size_t to, const void* out, std::size_t bytes) {
      count_sent(bytes);
      network_.finish(rank_, network_.post(rank_, to, out, bytes));
    }
    void recv(std::size_t from, void* in, std::size_t bytes) {
      network_.take(from, rank_, in, bytes);
      received += bytes;
    }
    void exchange(std::size_t to, const void* out, std::size_t out_bytes, std::size_t from, void* in,
                  std::size_t in_bytes) {
      count_sent(out_bytes);
      const auto sending = network_.post(rank_, to, out, out_bytes);
      recv(from, in, in_bytes);
      network_.finish(rank_, sending);
    }

    std::size_t sent = 0;
    std::size_t received = 0;
    std::size_t messages = 0;

   private:
    void count_sent(std::size_t bytes) {
      sent += bytes;
      ++messages;
    }

    ThreadNetwork& network_;
    std::size_t rank_;
  };

  /// Runs `body(transport)` on every rank, and rethrows the first thing that one of them threw.
  template <class Body>
  void run(Body&& body) {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      threads.emplace_back([&, rank] {
        Transport transport(*this, rank);
        try {
          body(transport);
          const std::lock_guard lock(mutex_);
          ++resting_;
          fail_if_all_rest();
        } catch (...) {
          const std::lock_guard lock(mutex_);
          fail(std::current_exception());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      if (!links_[i].empty()) {
        throw std::logic_error("rank " + std::to_string(i % ranks_) + " never received a message of rank " +
                               std::to_string(i / ranks_));
      }
    }
  }

 private:
  struct Message {
    const std::byte* data;
    std::size_t bytes;
    bool buffered;  // the sender need not wait
    bool taken = false;
    std::vector<std::byte> copy;
  };
  using Link = std::deque<std::shared_ptr<Message>>;

  struct Waiter {
    std::condition_variable condition;
    std::function<bool()> awaited;  // set while the rank waits
  };

  Link& link(std::size_t from, std::size_t to) {
    if (from == to) throw std::logic_error("rank " + std::to_string(from) + " speaks to itself");
    return links_.at(from * ranks_ + to);
  }

  std::shared_ptr<Message> post(std::size_t from, std::size_t to, const void* out, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Link& there = link(from, to);
    std::size_t under_way = bytes + 1;  // where there are buffers at all, a message of no bytes needs room too
    for (const auto& earlier : there) under_way += earlier->bytes + 1;
    auto message = std::make_shared<Message>(
        Message{static_cast<const std::byte*>(out), bytes, under_way <= buffer_bytes_, false, {}});
    if (message->buffered) {
      message->copy.assign(message->data, message->data + bytes);
      message->data = message->copy.data();
    }
    there.push_back(message);
    wake();
    return message;
  }

  void finish(std::size_t rank, const std::shared_ptr<Message>& message) {
    std::unique_lock lock(mutex_);
    if (!message->buffered) wait(lock, rank, [&] { return message->taken; });
  }

  void take(std::size_t from, std::size_t to, void* in, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    Link& there = link(from, to);
    wait(lock, to, [&] { return !there.empty(); });
    const auto message = there.front();
    if (message->bytes != bytes) {
      throw std::logic_error("rank " + std::to_string(to) + " expects " + std::to_string(bytes) + " bytes of rank " +
                             std::to_string(from) + ", which sent " + std::to_string(message->bytes));
    }
    if (bytes > 0) std::memcpy(in, message->data, bytes);
    message->taken = true;
    there.pop_front();
    wake();
  }

  void wait(std::unique_lock<std::mutex>& lock, std::size_t rank, const std::function<bool()>& awaited) {
    if (!failure_ && awaited()) return;
    Waiter& waiter = *waiters_[rank];
    waiter.awaited = awaited;
    ++resting_;
    fail_if_all_rest();
    // Whoever makes it true takes this rank off those that rest: see wake().
    waiter.condition.wait(lock, [&] { return waiter.awaited == nullptr || failure_; });
    if (!failure_) return;
    waiter.awaited = nullptr;  // it refers to this frame
    throw std::runtime_error("another rank failed");
  }

  void wake() {
    for (const auto& waiter : waiters_) {
      if (!waiter->awaited || !waiter->awaited()) continue;
      waiter->awaited = nullptr;
      --resting_;
      waiter->condition.notify_one();
    }
  }

  void fail_if_all_rest() {
    if (resting_ < ranks_) return;
    for (const auto& waiter : waiters_) {
      if (waiter->awaited) fail(std::make_exception_ptr(Deadlock("every rank waits for another")));
    }
  }

  void fail(const std::exception_ptr& failure) {
    if (!failure_) failure_ = failure;
    for (const auto& waiter : waiters_) waiter->condition.notify_one();
  }

  std::size_t ranks_;
  std::size_t buffer_bytes_;
  std::mutex mutex_;  // guards all below
  std::vector<Link> links_;
  std::vector<std::unique_ptr<Waiter>> waiters_;
  std::size_t resting_ = 0;  // ranks that wait, or are done
  std::exception_ptr failure_;
};

}  // namespace cobre::comm::test
