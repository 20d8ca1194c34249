// Operations under way.
//
// A `Request` borrows the caller's buffers, which must live and be left alone until it is over. A `Pending<R>` owns
// what was moved into it and hands it back. A `PersistentRequest` is set up once and started again and again on the
// same buffers. All may be moved and dropped at any time: dropping one waits for the operation, and only then lets its
// buffers go. What an operation throws is thrown by wait(), or by the test() that sees its end.
#pragma once

#include <cobre/comm/detail/worker.hpp>
#include <cobre/comm/errors.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

namespace cobre::comm {
namespace detail {

[[noreturn, gnu::cold]] void throw_nothing_to_get();
[[noreturn, gnu::cold]] void throw_already_started(const Where& where);
[[noreturn, gnu::cold]] void throw_plan_moved_from(const Where& where);

/// One run of a worker, or nothing.
class Run {
 public:
  Run() noexcept = default;
  Run(std::shared_ptr<Worker> worker, std::uint64_t number) noexcept : worker_(std::move(worker)), number_(number) {}
  Run(Run&& other) noexcept : worker_(std::move(other.worker_)), number_(other.number_) {}
  Run& operator=(Run&& other) noexcept {
    if (this != &other) {
      drop();
      worker_ = std::move(other.worker_);
      number_ = other.number_;
    }
    return *this;
  }
  ~Run() { drop(); }

  [[nodiscard]] bool pending() const noexcept { return worker_ != nullptr; }
  void wait() {
    // Forgotten first: it is over, however it ends.
    if (const auto worker = std::move(worker_)) worker->wait(number_);
  }
  [[nodiscard]] bool test() {
    if (worker_ != nullptr && !worker_->test(number_)) return false;
    wait();
    return true;
  }

 private:
  void drop() noexcept {
    if (worker_ != nullptr) worker_->drop(number_, std::uncaught_exceptions() > exceptions_);
    worker_ = nullptr;
  }

  std::shared_ptr<Worker> worker_;
  std::uint64_t number_ = 0;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace detail

class [[nodiscard]] Request {
 public:
  /// Nothing under way: `wait()` returns at once.
  Request() noexcept = default;
  explicit Request(detail::Run run) noexcept : run_(std::move(run)) {}

  /// Waits until the operation is over on this rank, and throws what it threw. Called again, returns at once.
  void wait() { run_.wait(); }
  /// Whether it is over, without waiting; if it is not, brings it forward as far as that goes now.
  [[nodiscard]] bool test() { return run_.test(); }
  /// True once `wait()` or `test()` has seen the end, and for a request that was moved from.
  [[nodiscard]] bool is_complete() const noexcept { return !run_.pending(); }

 private:
  detail::Run run_;
};

/// A request that owns its buffer, `R`: the container or the value that was given away.
template <class R>
class [[nodiscard]] Pending {
 public:
  Pending(std::unique_ptr<R> held, Request request) noexcept : held_(std::move(held)), request_(std::move(request)) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    request_ = std::move(other.request_);  // first: what was under way here is over before its buffer goes
    held_ = std::move(other.held_);
    return *this;
  }
  ~Pending() = default;

  void wait() { request_.wait(); }
  [[nodiscard]] bool test() { return request_.test(); }
  [[nodiscard]] bool is_complete() const noexcept { return request_.is_complete(); }

  /// Waits, then hands the buffer back. Once.
  [[nodiscard]] R get() {
    if (held_ == nullptr) detail::throw_nothing_to_get();
    wait();
    return std::move(*std::exchange(held_, nullptr));
  }

 private:
  std::unique_ptr<R> held_;  // declared first: the operation is over before it goes
  Request request_;
};

/// Borrows its buffers: they must live, and stay where they are, as long as this does. What it needs beside them, such
/// as counts and callables, it keeps itself.
class [[nodiscard]] PersistentRequest {
 public:
  PersistentRequest(std::shared_ptr<detail::Worker> worker, detail::Drive drive, const Where& where) noexcept
      : worker_(std::move(worker)), drive_(drive), where_(where) {}

  /// Begins one round; every rank does. InvalidOperation if a round is in progress.
  void start() {
    if (worker_ == nullptr) detail::throw_plan_moved_from(where_);
    if (run_.pending()) detail::throw_already_started(where_);
    run_ = detail::Run(worker_, worker_->start(drive_));
  }
  /// Waits for the end of the round; returns at once if none is in progress.
  void wait() { run_.wait(); }
  /// Whether no round is in progress any more.
  [[nodiscard]] bool test() { return run_.test(); }
  /// From `start()` until `wait()` or `test()` has seen the end.
  [[nodiscard]] bool is_active() const noexcept { return run_.pending(); }

 private:
  std::shared_ptr<detail::Worker> worker_;
  detail::Drive drive_;
  Where where_;
  detail::Run run_;
};

}  // namespace cobre::comm
