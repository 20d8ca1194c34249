// Locks on a window that end with their scope.
#pragma once

#include <ferrompi/window/target.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace ferrompi {

namespace detail {

[[noreturn]] void throw_shared_lock_written();
[[noreturn]] void throw_guard_ended(const char* operation);

/// What both guards do: hold a lock until they are destroyed or told to end, and hand it on when moved.
class GuardState {
 public:
  GuardState() noexcept = default;
  GuardState(GuardState&& other) noexcept : held_(std::exchange(other.held_, false)) {}
  GuardState& operator=(GuardState&&) = delete;

  [[nodiscard]] bool held() const noexcept { return held_; }
  void require_held(const char* operation) const {
    if (!held_) throw_guard_ended(operation);
  }
  void end() noexcept { held_ = false; }

 private:
  bool held_ = true;
};

}  // namespace detail

/// A lock on the segment of one rank, held by this process until the guard goes. Operations of WindowTarget work
/// through it; so does plain access, through `as_span()` and, under an exclusive lock, `as_mut_span()`.
template <class T>
class [[nodiscard]] LockGuard : public WindowTarget<T> {
 public:
  LockGuard(LockGuard&&) noexcept = default;
  LockGuard& operator=(LockGuard&&) = delete;
  ~LockGuard() {
    if (guard_.held()) this->state_->unlock_quietly(this->rank_);
  }

  [[nodiscard]] LockType type() const noexcept { return type_; }

  /// The segment of the locked rank. A span does not keep the lock: not to be had from a temporary guard.
  [[nodiscard]] std::span<const T> as_span() const& {
    guard_.require_held("as_span");
    const auto& segment = this->state_->segment(this->rank_, "as_span");
    return {reinterpret_cast<const T*>(segment.base), segment.count};
  }
  std::span<const T> as_span() const&& = delete;

  /// The same to write to. Throws InvalidOp under a shared lock, which others may hold too.
  [[nodiscard]] std::span<T> as_mut_span() & {
    guard_.require_held("as_mut_span");
    if (type_ != LockType::Exclusive) detail::throw_shared_lock_written();
    const auto& segment = this->state_->segment(this->rank_, "as_mut_span");
    return {reinterpret_cast<T*>(segment.base), segment.count};
  }
  std::span<T> as_mut_span() && = delete;

  /// Completes the operations that were started through this guard, at the target too.
  void flush() {
    guard_.require_held("flush");
    this->state_->flush(this->rank_);
  }
  /// Completes them here: their buffers are free again.
  void flush_local() {
    guard_.require_held("flush_local");
    this->state_->flush_local(this->rank_);
  }
  /// Ends the lock now and reports errors; later calls and the destructor do nothing.
  void unlock() {
    if (!guard_.held()) return;
    this->state_->unlock(this->rank_);
    guard_.end();  // not where the call was refused
  }

 private:
  template <class>
  friend class SharedWindow;
  LockGuard(const std::shared_ptr<detail::WindowState>& state, LockType type, int rank)
      : WindowTarget<T>(state, rank), type_(type) {}

  LockType type_;
  detail::GuardState guard_;
};

/// A shared lock on the segments of all ranks.
template <class T>
class [[nodiscard]] LockAllGuard {
 public:
  LockAllGuard(LockAllGuard&&) noexcept = default;
  LockAllGuard& operator=(LockAllGuard&&) = delete;
  ~LockAllGuard() {
    if (guard_.held()) state_->unlock_all_quietly();
  }

  /// Operations on one rank.
  [[nodiscard]] WindowTarget<T> target(int rank) const& {
    guard_.require_held("target");
    static_cast<void>(state_->segment(rank, "target"));
    return {state_, rank};
  }
  WindowTarget<T> target(int rank) const&& = delete;

  /// Completes the operations on one rank, at the target too.
  void flush(int rank) {
    guard_.require_held("flush");
    state_->flush(rank);
  }
  /// Completes them here: their buffers are free again.
  void flush_local(int rank) {
    guard_.require_held("flush_local");
    state_->flush_local(rank);
  }
  /// The same for all ranks.
  void flush_all() { flush_all_in("flush_all"); }
  void flush() { flush_all_in("flush"); }
  void flush_local_all() {
    guard_.require_held("flush_local_all");
    state_->flush_local_all();
  }
  /// Ends the lock now and reports errors; later calls and the destructor do nothing.
  void unlock() {
    if (!guard_.held()) return;
    state_->unlock_all();
    guard_.end();  // not where the call was refused
  }

 private:
  template <class>
  friend class SharedWindow;
  explicit LockAllGuard(const std::shared_ptr<detail::WindowState>& state) : state_(state) {}

  void flush_all_in(const char* operation) {
    guard_.require_held(operation);
    state_->flush_all(operation);
  }

  std::shared_ptr<detail::WindowState> state_;
  detail::GuardState guard_;
};

}  // namespace ferrompi
