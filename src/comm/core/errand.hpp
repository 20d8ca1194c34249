// Work under way that needs no stack of its own: a post office with messages on their way. Its owner hands it in when
// it goes away from it, and takes it back when it comes to it again. In between the thread that handed it in goes on
// with it wherever it waits for something else.
//
//   resting ── hand in (owner) ──▶ waiting ──── its thread comes by ───▶ advancing
//      ▲                             │ ▲                                  │ │
//      ├──────── take back ──────────┘ └────────────── more to do ────────┘ │
//      └───────────────────────────────────────────── all done ─────────────┘
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace cobre::comm::core {

class Errands;

class Errand {
 public:
  Errand() = default;
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  /// Who derives from it has taken it back before.
  virtual ~Errand();

  /// From here on it is the thread's, also where it was handed in before. Without memory for that it stays with its
  /// owner, and goes on when that comes.
  void hand_in() noexcept;
  /// From here on it is the caller's, and nobody is at it; whether it was handed in.
  bool take_back() noexcept {
    // Acquire: pairs with the release of whoever brought it to its end.
    return state_.load(std::memory_order_acquire) != State::Resting && recall();
  }

  enum class Step : std::uint8_t { Still, Moved, Done };

 private:
  friend class Errands;
  enum class State : std::uint8_t { Resting, Waiting, Advancing };

  /// As far as it goes without waiting.
  virtual Step advance() noexcept = 0;

  bool recall() noexcept;
  [[nodiscard]] bool come_by() noexcept;

  std::atomic<State> state_{State::Resting};
  std::shared_ptr<Errands> home_;  // on whose list it stands
};

/// What one thread has to do, and no other does: others may only take back what is theirs.
class Errands {
 public:
  [[nodiscard]] bool empty() const noexcept { return waiting_.load(std::memory_order_relaxed) == 0; }
  /// All, as far as they go without waiting; whether any moved.
  bool advance() noexcept;

 private:
  friend class Errand;

  std::mutex mutex_;  // of the list; never held by anybody who waits
  std::vector<Errand*> list_;
  std::atomic<std::size_t> waiting_{0};  // of the list; relaxed, because nothing follows from it but who is looked at
};

}  // namespace cobre::comm::core
