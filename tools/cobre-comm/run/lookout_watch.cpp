// How the lookout comes to know who was first. What a launcher does when a rank dies takes microseconds, and it begins
// with the first descriptor that the dying process lets go, so by the time anybody looks the others may be dead as
// well. But each rank has a line to the lookout, which ends with its descriptors, and epoll tells events in the order
// in which they happened. The launcher is told nothing and kept from nothing: in every respect but this one the job is
// the launcher's.

#include "lookout_watch.hpp"

#include <cobre/comm/config.hpp>

#ifdef COBRE_COMM_HAS_SHM

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/obituary.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#include "comm/core/format.hpp"
#include "comm/topology/host.hpp"
#include "lookout_call.hpp"
#include "suspects.hpp"

namespace cobre::command {
namespace {

using comm::core::Descriptor;
namespace shm = comm::shm;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// After the first sign of an end: how long to wait for what is missing, and for others that end with a code too.
constexpr auto longest_doubt = 2000ms;
constexpr auto settled_after = 100ms;
constexpr auto look_again_after = 5ms;
constexpr int most_accepted_at_once = 64;  // between two looks at everybody else

class Lookout {
 public:
  Lookout(std::size_t ranks, Descriptor socket, Descriptor launcher, std::optional<Clock::time_point> end, int words)
      : events_(epoll_create1(EPOLL_CLOEXEC)),
        socket_(std::move(socket)),
        launcher_(std::move(launcher)),
        end_(end),
        words_(words),
        processes_(ranks),
        pids_(ranks),
        statuses_(ranks),
        suspects_(ranks) {
    add(socket_, Kind::Socket, 0);
    add(launcher_, Kind::Launcher, 0);
  }

  // Until there is nothing more to find out.
  void watch() {
    while (!over_ && !(end_ && Clock::now() >= *end_)) {
      wait_for_something();
      judge();
      if (launcher_gone_ && nobody_is_missed()) return;
    }
  }

 private:
  enum class Kind : std::uint32_t { Socket, Launcher, Line, Process };

  struct Line {
    Descriptor socket;
    std::optional<std::size_t> rank = {};  // that has called
  };

  // Each event is told once, so that they stay in their order; but that somebody knocks as long as that is so.
  void add(const Descriptor& descriptor, Kind kind, std::size_t number) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    if (kind != Kind::Socket) event.events |= EPOLLET;
    event.data.u64 = std::uint64_t{static_cast<std::uint32_t>(kind)} << 32 | number;
    (void)epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor.get(), &event);
  }

  void wait_for_something() {
    std::array<epoll_event, 64> events;  // NOLINT(cppcoreguidelines-pro-type-member-init): epoll_wait fills it
    const int count = epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), milliseconds_to_wait());
    for (const epoll_event& event : std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
      const auto number = static_cast<std::size_t>(event.data.u64 & 0xffff'ffffU);
      const bool closed = (event.events & (EPOLLRDHUP | EPOLLHUP)) != 0;
      switch (static_cast<Kind>(event.data.u64 >> 32)) {
        case Kind::Socket: meet_callers(); break;
        case Kind::Launcher: launcher_gone_ = true; break;
        case Kind::Line: hear(lines_[number], closed); break;
        case Kind::Process: begins_to_end(number); break;
      }
    }
    look_for_endings();
  }

  [[nodiscard]] int milliseconds_to_wait() const {
    if (first_sign_ || launcher_gone_) return static_cast<int>(look_again_after.count());
    if (!end_) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<long>(left, 0, 60'000));
  }

  // Whoever knocks without end keeps it from nothing else.
  void meet_callers() {
    somebody_waits_ = true;
    for (int count = 0; count < most_accepted_at_once; ++count) {
      Descriptor caller(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!caller) {
        somebody_waits_ = false;
        return;
      }
      if (shm::owner_of(caller).uid != geteuid()) continue;  // another user: nothing is read, nothing is said
      lines_.push_back({.socket = std::move(caller)});
      add(lines_.back().socket, Kind::Line, lines_.size() - 1);
    }
  }

  // A job may be over before its ranks were let in, where others crowd at the door: they stand there still.
  [[nodiscard]] bool nobody_is_missed() {
    if (called_ == suspects_.size()) return true;
    if (!gone_since_) gone_since_ = Clock::now();
    const auto since = Clock::now() - *gone_since_;
    const bool at_the_door = std::exchange(somebody_waits_, false);
    return since > longest_doubt || (since > look_again_after && !at_the_door);
  }

  void hear(Line& line, bool closed) {
    if (!line.rank) take_call(line);
    char word = 0;
    if (line.rank && recv(line.socket.get(), &word, 1, MSG_DONTWAIT) > 0) over_ = true;  // aborts, and says so itself
    if (closed && line.rank) begins_to_end(*line.rank);
  }

  void take_call(Line& line) {
    LookoutCall call;
    std::vector<Descriptor> descriptors;
    const auto received = shm::receive_message(line.socket, call, descriptors);
    if (received == shm::Received::Nothing || received == shm::Received::Closed) return;
    // With ranks on other hosts, or such that do not know who they are, nobody can tell who was first.
    if (received != shm::Received::Message || descriptors.size() != 1 || call.ranks_on_host != suspects_.size() ||
        call.rank >= suspects_.size() || processes_[call.rank]) {
      over_ = true;
      return;
    }
    line.rank = call.rank;
    pids_[call.rank] = shm::owner_of(line.socket).pid;
    processes_[call.rank] = std::move(descriptors[0]);
    add(processes_[call.rank], Kind::Process, call.rank);
    ++called_;
  }

  void begins_to_end(std::size_t rank) {
    if (!first_sign_) first_sign_ = Clock::now();
    if (suspects_[rank].place) return;
    suspects_[rank].place = places_++;
    statuses_[rank] = shm::status_of_ended(processes_[rank].get(), pids_[rank]);
  }

  void look_for_endings() {
    for (std::size_t rank = 0; rank < suspects_.size(); ++rank) {
      Suspect& suspect = suspects_[rank];
      if (!suspect.place || suspect.gone || !shm::has_ended(processes_[rank].get())) continue;
      suspect.gone = true;
      auto status = shm::status_of_ended(processes_[rank].get(), pids_[rank]);
      if (!status) status = statuses_[rank];
      if (!status) continue;
      suspect.ending = Ending{.place = *suspect.place};
      if (WIFSIGNALED(*status)) suspect.ending->signal = WTERMSIG(*status);
      if (WIFEXITED(*status)) suspect.ending->code = WEXITSTATUS(*status);
    }
  }

  void judge() {
    if (!first_sign_ || over_) return;
    const auto since = Clock::now() - *first_sign_;
    const Finding finding = find_culprit(suspects_, since > settled_after || launcher_gone_);
    if (finding.kind == Finding::Kind::Well) {
      first_sign_.reset();
    } else if (finding.kind == Finding::Kind::Known && called_ == suspects_.size()) {
      tell(finding.rank);
      over_ = true;
    } else {
      over_ = finding.kind == Finding::Kind::Unknowable || since > longest_doubt;
    }
  }

  void tell(std::size_t rank) const {
    const std::string line =
        comm::core::format("cobre-comm: rank {} of {} (pid {} on {}) {}\n", rank, suspects_.size(), pids_[rank],
                           comm::topology::host_name(), suspects_[rank].ending.value_or(Ending{}).words());
    (void)!write(words_, line.data(), line.size());  // at once, as others write there too
  }

  Descriptor events_;
  Descriptor socket_;
  Descriptor launcher_;
  std::optional<Clock::time_point> end_;  // of what there is to see
  int words_;
  std::vector<Line> lines_;
  std::vector<Descriptor> processes_;  // one a rank, as the rest
  std::vector<pid_t> pids_;
  std::vector<std::optional<int>> statuses_;  // as soon as it began to end
  std::vector<Suspect> suspects_;
  std::size_t called_ = 0;
  std::size_t places_ = 0;
  std::optional<Clock::time_point> first_sign_;
  bool launcher_gone_ = false;
  bool somebody_waits_ = false;  // at the door, when it was last looked at
  std::optional<Clock::time_point> gone_since_;
  bool over_ = false;
};

}  // namespace

void watch_ranks(std::size_t ranks, Descriptor socket, Descriptor launcher, std::optional<Clock::time_point> end,
                 int words) {
  Lookout(ranks, std::move(socket), std::move(launcher), end, words).watch();
}

}  // namespace cobre::command

#endif
