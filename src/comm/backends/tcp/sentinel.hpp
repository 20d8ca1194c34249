// The watch of one rank: a thread that sleeps until something happens that the calling thread cannot see, because it
// computes, or waits for somebody else.
//
// It keeps connections to the rank's neighbours, so that a death is seen by all neighbours of the dead and told to
// everyone, whoever is inside an operation at that moment; it opens the door to links that are made later; and it looks
// at the clock for operations that take long. It never touches a byte of data.
//
// Neighbours are those in the control tree (rank i and i & (i - 1)), and those to whom the rank talks anyway: bad news
// takes every way, so that it comes past ranks that have left or are stopped. Questions go along the tree.
//
// Whatever ends the communicator is decided in one place, the root of the tree, which takes the first of several
// reasons. A rank whose parent is dead, or does not answer, is the root of what is left below it.
#pragma once

#include <cobre/comm/errors.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "comm/backends/tcp/arbiter.hpp"
#include "comm/backends/tcp/control_link.hpp"
#include "comm/backends/tcp/ledger.hpp"
#include "comm/backends/tcp/reception.hpp"
#include "comm/backends/tcp/surroundings.hpp"

namespace cobre::comm::tcp {

/// For the reason to arrive, after a connection ended.
inline constexpr std::chrono::milliseconds patience_with_reason{100};

class Sentinel {
 public:
  struct Settings {
    std::size_t rank;
    std::size_t size;
    Key link_key;
    std::chrono::milliseconds timeout;  // 0: never
    std::chrono::milliseconds warn_after;
    std::chrono::milliseconds host_timeout;
    std::vector<Member> members;
    RankBits visited{};  // to whom this rank goes at the start with a link for messages: they never come with one
    std::function<void(std::size_t)> on_failure{};      // told whom a verdict blames; neither throws nor waits
    std::shared_ptr<const Surroundings> own{};          // of this communicator; null where nothing is beside it
    std::shared_ptr<const Surroundings> base{};         // of the one that it is a duplicate of
    std::function<void(const Verdict&)> on_crossing{};  // the caller is about to be told that requests are in its way
  };

  Sentinel(Settings settings, std::vector<core::Descriptor> doors, Ledger& ledger);
  Sentinel(const Sentinel&) = delete;
  Sentinel& operator=(const Sentinel&) = delete;
  /// Ends the thread; whoever has not said goodbye has failed.
  ~Sentinel();

  /// The connection to a neighbour below this rank, from the calling thread.
  void adopt_link(std::size_t peer, core::Descriptor socket);
  /// The socket of a link that the peer has opened, once it has; empty where that is not before the deadline, or the
  /// communicator is finished.
  [[nodiscard]] core::Descriptor await_link(std::size_t peer, Clock::time_point deadline);
  /// The same for a link for messages.
  [[nodiscard]] core::Descriptor await_mail_link(std::size_t peer, Clock::time_point deadline);
  /// How many links for messages have come in, and the one of a peer, once it has; empty otherwise.
  [[nodiscard]] std::uint64_t mail_arrivals() const noexcept { return mail_arrivals_.load(std::memory_order_acquire); }
  [[nodiscard]] core::Descriptor take_mail_link(std::size_t peer);
  /// Whether that rank said goodbye. What it sent before is not waited for.
  [[nodiscard]] bool departed(std::size_t rank) const;
  /// Whether all neighbours above this rank are connected, at the latest at the deadline; the first that is not.
  [[nodiscard]] std::optional<std::size_t> await_neighbours(Clock::time_point deadline);

  /// Whether there is a verdict. Pairs with the release after it was written.
  [[nodiscard]] bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }
  /// Readable from then on.
  [[nodiscard]] int bell() const noexcept { return bell_.get(); }
  /// Waits for it, at most that long.
  bool await_verdict(std::chrono::milliseconds longest);
  /// Throws what the verdict says.
  [[noreturn]] void conclude(const Where& where) const;
  [[nodiscard]] Verdict verdict() const;

  /// From the calling thread: this happened. Returns once there is a verdict, whatever it says.
  void report(const Verdict& verdict);
  /// The peer is in another operation than this rank.
  void report_disagreement(std::uint64_t sequence);
  /// A verdict that names this peer; or the one that it missed, where it left because of that.
  [[nodiscard]] Verdict failure_of(std::size_t rank) const;
  /// Another communicator of this rank was told that this peer has failed, the first of several. If this rank leaves
  /// because of that, whoever misses it is told of that peer.
  void blame(std::size_t rank) noexcept {
    std::uint32_t nobody = 0;
    // Relaxed: who says goodbye because of it has learned of it from the thread that calls this.
    if (rank != settings_.rank) {
      blamed_.compare_exchange_strong(nobody, static_cast<std::uint32_t>(rank + 1), std::memory_order_relaxed);
      ledger_.blame(rank);
    }
  }

  /// A message told it so, without a verdict for all: the same for all communicators of this rank.
  void miss(std::size_t rank) noexcept;

  /// Called once there is a verdict, on the sentinel's thread or on this one.
  void on_verdict(std::function<void(const Verdict&)> call);

  /// No further operation will see this rank.
  void say_goodbye() noexcept;
  /// Tells everyone to end, and returns when they have been told.
  void spread_abort(int code) noexcept;
  /// In a forked child there is no thread to end.
  void forget_thread() noexcept;

 private:
  struct Request {
    enum class Kind { Report, Inquiry, Goodbye, Abort, Neighbour, Stop } kind;
    Verdict verdict{};
    Inquiry inquiry{};
    int code = 0;
    std::size_t peer = 0;
    core::Descriptor socket{};
  };

  static constexpr std::chrono::milliseconds heartbeat{50};              // how often the clock is looked at
  static constexpr std::chrono::milliseconds last_words{500};            // to get out what the others must know
  static constexpr std::chrono::milliseconds patience_with_reports{50};  // while others wait for the news

  void ask(Request request);
  [[nodiscard]] core::Descriptor await_arrival(std::vector<core::Descriptor>& arrived, std::size_t peer,
                                               Clock::time_point deadline);
  void run();
  void turn();
  void take_requests();
  void welcome(Guest guest);
  void close_door_behind_the_last();
  void hear(ControlLink& link, NoticeKind kind, std::span<const std::byte> body, std::span<const std::byte> whole);
  void heed(ControlLink& link, const Verdict& verdict, std::span<const std::byte> whole);
  void heed(ControlLink& link, const Report& report, std::span<const std::byte> whole);
  void heed(ControlLink& link, const Inquiry& inquiry, std::span<const std::byte> whole);
  void heed(ControlLink& link, const RollCall& call, std::span<const std::byte> whole);
  void heed(ControlLink& link, const Testimony& testimony, std::span<const std::byte> whole);
  void heed(ControlLink& link, const Warning& warning, std::span<const std::byte> whole);
  void heed(ControlLink& link, const Farewell& farewell, std::span<const std::byte> whole);
  void heed(ControlLink& link, const Abort& abort, std::span<const std::byte> whole);
  void heed(ControlLink& link, const Alive& alive, std::span<const std::byte> whole);
  void look_at_the_machines();
  void bury_lost_links();
  void look_at_the_clock();
  void heed_silence_above();
  void look_for_those_who_left();
  void rule();

  /// In the control tree of those who have not left.
  [[nodiscard]] std::optional<std::size_t> parent_of(std::size_t rank) const;
  void forget_silence() noexcept;
  [[nodiscard]] ControlLink* parent() noexcept;
  /// The same, unless it does not answer.
  [[nodiscard]] ControlLink* superior() noexcept;
  void propose(const Verdict& verdict);
  void pronounce(const Verdict& verdict);
  void inquire(const Inquiry& inquiry);
  enum class Whom { Everyone, Children };
  void tell(Whom whom, std::span<const std::byte> bytes, const ControlLink* but = nullptr);
  void adopt(const Verdict& verdict);
  [[nodiscard]] Testimony testify(std::uint64_t call) const;
  [[nodiscard]] bool can_answer(std::size_t rank) const;
  void part(std::chrono::milliseconds longest);
  [[noreturn]] void end_process();

  const Settings settings_;
  Ledger& ledger_;
  const Journal& journal_;  // of it
  core::Descriptor bell_;   // rung once, for the caller
  core::Descriptor knock_;  // rung by the caller, for the thread

  // Shared with the caller.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> requests_;
  std::vector<core::Descriptor> arrived_;        // links by rank, until they are taken
  std::vector<core::Descriptor> arrived_mail_;   // likewise, for messages
  std::atomic<std::uint64_t> mail_arrivals_{0};  // pairs with the release after one was stored
  RankBits departed_;
  std::vector<std::uint32_t> missed_;  // by rank: 1 + the one whose failure made it leave, or 0
  RankBits connected_;                 // neighbours above this rank
  std::optional<Verdict> verdict_;
  bool stopped_ = false;
  std::function<void(const Verdict&)> on_verdict_;
  std::atomic<bool> finished_{false};
  std::atomic<std::uint32_t> blamed_{0};  // 1 + a rank

  // The thread's own.
  Reception reception_;
  std::list<ControlLink> links_;
  RankBits linked_;       // whose data links came in
  RankBits mail_linked_;  // and whose links for messages
  RankBits neighbours_;
  std::vector<std::optional<std::uint64_t>> left_;  // by rank: the last operation of those who said goodbye
  std::optional<std::size_t> parent_rank_;
  RankBits dead_;
  Arbiter arbiter_;
  std::optional<Verdict> proposed_;
  std::optional<Clock::time_point> proposed_at_;    // unless the parent was heard since
  std::optional<Clock::time_point> unheard_since_;  // when it was asked something, likewise
  std::vector<Inquiry> unheard_;                    // and what
  Clock::time_point looked_{};                      // at the machines
  Clock::time_point next_sign_{};                   // of life
  std::uint64_t watched_ = 0;                       // the operation that the next four are about
  Clock::duration next_check_{};
  Clock::duration next_warning_{};
  std::optional<Clock::time_point> gave_up_;  // when the timeout was reported
  bool goodbye_ = false;
  bool running_ = true;

  std::unique_ptr<std::thread> thread_;
};

}  // namespace cobre::comm::tcp
