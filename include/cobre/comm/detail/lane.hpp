// Where operations run that the caller does not wait for: each lane is a duplicate of the communicator, with a fiber or
// a thread.
#pragma once

#include <cobre/comm/detail/worker.hpp>
#include <cobre/comm/errors.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace cobre::comm::detail {

/// Throws InvalidOperation: the MPI library does not let a second thread in.
[[noreturn, gnu::cold]] void throw_needs_threads(const Where& where, const char* level);

template <class Backend>
class Lane final : public Worker {
 public:
  explicit Lane(Backend comm) : comm_(std::move(comm)) {}
  ~Lane() override {
    stop();
    forget();
  }

  /// What the next runs do: `job(comm)`. It is kept here, without an allocation unless it is large.
  template <class Job>
  void set(Job job) {
    forget();
    if constexpr (sizeof(Job) <= sizeof(place_) && alignof(Job) <= alignof(std::max_align_t)) {
      job_ = ::new (static_cast<void*>(place_.data())) Job(std::move(job));
      forget_ = [](void* kept) { static_cast<Job*>(kept)->~Job(); };
    } else {
      job_ = new Job(std::move(job));
      forget_ = [](void* kept) { delete static_cast<Job*>(kept); };
    }
    run_ = [](void* kept, const Backend& comm) { (*static_cast<Job*>(kept))(comm); };
  }

  // Room that operations reuse for what they must keep of their arguments.
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;

 private:
  void run() override { run_(job_, comm_); }
  [[noreturn]] void abort_job() override { comm_.abort(1); }
  void forget() noexcept {
    if (job_ != nullptr) forget_(job_);
    job_ = nullptr;
  }

  Backend comm_;
  alignas(std::max_align_t) std::array<std::byte, 128> place_;
  void* job_ = nullptr;
  void (*run_)(void*, const Backend&) = nullptr;
  void (*forget_)(void*) = nullptr;
};

/// The lanes of one communicator. All ranks start the same operations in the same order, so going round gives all of
/// them the same lane, whichever of them is done with what.
template <class Backend>
class Lanes {
 public:
  static constexpr std::size_t count = 4;

  /// What the environment asked for when the first operation was started.
  [[nodiscard]] Drive drive() const noexcept { return drive_; }

  /// Free for the next operation. Collective the first time round, when the lanes are made; afterwards it waits only
  /// for the operation that was started `count` operations ago.
  [[nodiscard]] const std::shared_ptr<Lane<Backend>>& next(const Backend& comm) {
    auto& lane = lanes_[started_ % count];
    if (lane == nullptr) {
      lane = std::make_shared<Lane<Backend>>(comm.duplicate());
    } else {
      lane->await_idle();
    }
    ++started_;
    return lane;
  }

 private:
  std::array<std::shared_ptr<Lane<Backend>>, count> lanes_;
  std::uint64_t started_ = 0;
  Drive drive_ = drive_from_environment();
};

}  // namespace cobre::comm::detail
