// Where operations run that the caller does not wait for: each lane is a duplicate of the communicator, or what the
// backend has in its place, with a fiber or a thread.
#pragma once

#include <cobre/comm/detail/kept_place.hpp>
#include <cobre/comm/detail/worker.hpp>
#include <cobre/comm/errors.hpp>

#include <array>
#include <atomic>
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
  explicit Lane(LaneSeed<Backend> seed)
      : comm_(std::move(seed.comm)), turn_(std::move(seed.place)), made_(turn_ == nullptr) {}
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

  /// Whether there is something to run on. The first run makes it where there is none, and ends with what that threw.
  [[nodiscard]] const std::atomic<bool>& made() const noexcept { return made_; }

  // Room that operations reuse for what they must keep of their arguments.
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;

 private:
  void run() override {
    if (turn_ != nullptr) make();
    run_(job_, comm_);
  }
  void make() {
    const auto turn = std::move(turn_);
    turn->take();
    comm_ = comm_.duplicate();
    made_.store(true, std::memory_order_release);  // pairs with Worker::bring_forward
  }
  [[noreturn]] void abort_job() override { comm_.abort(1); }
  void forget() noexcept {
    if (job_ != nullptr) forget_(job_);
    job_ = nullptr;
  }

  Backend comm_;  // until it is made, that of which it will be
  std::unique_ptr<KeptPlace> turn_;
  std::atomic<bool> made_;
  alignas(std::max_align_t) std::array<std::byte, 128> place_;
  void* job_ = nullptr;
  void (*run_)(void*, const Backend&) = nullptr;
  void (*forget_)(void*) = nullptr;
};

/// The lanes of one communicator, for each way in which operations are brought forward. All ranks start the same
/// operations in the same order, so going round gives all of them the same lane, whichever of them is done with what.
template <class Backend>
class Lanes {
 public:
  static constexpr std::size_t count = 4;

  /// What the environment asked for when the first operation was started.
  [[nodiscard]] Drive drive() const noexcept { return drive_; }

  /// Free for the next operation: waits for the one that was started `count` operations ago. Where there is no lane
  /// yet, or its making failed on all ranks, this is one of `seed(drive)`.
  template <class Seed>
  [[nodiscard]] const std::shared_ptr<Lane<Backend>>& next(Drive drive, const Seed& seed) {
    Round& round = rounds_[drive == Drive::Thread ? 1 : 0];
    auto& lane = round.lanes[round.started % count];
    if (lane != nullptr) lane->await_idle();
    if (lane == nullptr || !lane->made()) lane = std::make_shared<Lane<Backend>>(seed(drive));
    ++round.started;
    return lane;
  }

 private:
  struct Round {
    std::array<std::shared_ptr<Lane<Backend>>, count> lanes;
    std::uint64_t started = 0;
  };
  std::array<Round, 2> rounds_;
  Drive drive_ = drive_from_environment();
};

}  // namespace cobre::comm::detail
