// The rendezvous as every rank but 0 sees it: keep knocking until rank 0 opens, say who we are, wait for the rest.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/obituary.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#include "comm/backends/shm/segment.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::shm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Rank 0 knows better than we do who is missing, so it gets the time to say so.
constexpr auto patience_with_coordinator = 2s;
constexpr auto patience_with_reason = 1s;

class Joiner {
 public:
  Joiner(const ShmConfig& config, const Check& check)
      : config_(config),
        check_(check),
        where_{"attach", config.rank, config.size},
        deadline_(Clock::now() + config.connect_timeout),
        hello_(hello_of(config)) {}

  Gathering run() {
    const core::Descriptor process = process_to_watch();
    for (;;) {
      core::crash_point<"shm.join.begun">();
      knock();
      core::crash_point<"shm.join.connected">();
      const int own = process.get();
      if (!send_message(link_, hello_, std::span(&own, 1))) continue;
      core::crash_point<"shm.join.introduced">();
      if (wait_for_reply(deadline_)) break;
      // A silent end before the first answer is a group that just closed its door; ours may still open.
      if (Clock::now() >= deadline_) throw_no_coordinator();
      std::this_thread::sleep_for(1ms);
    }
    heed();  // accepted, or not
    core::crash_point<"shm.join.accepted">();
    while (reply_.kind == ReplyKind::Accepted) {
      if (!wait_for_reply(deadline_ + patience_with_coordinator)) {
        hear_reason();
        throw PeerFailed(where_, {.rank = 0, .host = {}, .pid = owner_of(link_).pid, .signal = {}, .exit_code = {}});
      }
      heed();
    }
    core::crash_point<"shm.join.welcomed">();
    return arrive();
  }

 private:
  // Connects, however late rank 0 is.
  void knock() {
    const std::string name = socket_name(config_.name);
    for (auto pause = 100us;; pause = std::min<std::chrono::microseconds>(2 * pause, 10ms)) {
      link_ = open_socket();
      const int error = connect_to(link_, name);
      if (error == 0) break;
      if (error != ECONNREFUSED && error != EAGAIN && error != EINTR) {
        throw InitializationFailed(
            "shm", core::format("rank {} cannot reach rank 0 ({})", config_.rank, std::strerror(error)));
      }
      if (Clock::now() >= deadline_) throw_no_coordinator();
      if (check_) check_();
      std::this_thread::sleep_for(pause);
    }
    const Owner owner = owner_of(link_);
    if (owner.uid != geteuid()) throw_foreign_owner(config_.name, owner.uid);
    coordinator_ = open_process(owner.pid);
  }

  [[noreturn]] void throw_no_coordinator() const {
    throw InitializationFailed(
        "shm", core::format("rank {} of {} waited {} ms for rank 0 of the group {}, which never came; start it on this "
                            "machine with the same COBRE_SHM_NAME",
                            config_.rank, config_.size, config_.connect_timeout.count(), core::quoted(config_.name)));
  }

  // False where the other side closed.
  bool wait_for_reply(Clock::time_point until) {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      if (left <= 0ms) throw_no_coordinator();
      pollfd entry{.fd = link_.get(), .events = POLLIN, .revents = 0};
      if (poll(&entry, 1, static_cast<int>(std::min<long>(left.count(), check_ ? 10 : 1000))) <= 0) {
        if (check_) check_unless_answered(entry);
        continue;
      }
      switch (receive_message(link_, reply_, descriptors_)) {
        case Received::Message: return true;
        case Received::Nothing: break;
        case Received::Closed: return false;
        case Received::Malformed:
          throw InitializationFailed("shm",
                                     "rank 0 sent something else than expected; do all ranks run the same version "
                                     "of this library, and may this process open enough files (ulimit -n)?");
      }
    }
  }

  // Who has welcomed everyone may go on, and even leave, before this rank has looked at its welcome.
  void check_unless_answered(pollfd& entry) const {
    try {
      check_();
    } catch (const CommError&) {
      if (poll(&entry, 1, 0) <= 0) throw;
    }
  }

  // Rank 0 may have gone because of somebody else, and said so before, on another line: the word is there, or about to
  // be; and so is the end of that line where it was rank 0 that died. Where there is no other line, this rank stays
  // until rank 0 has ended: a process lets its descriptors go first, and those who were welcomed watch for ends. They
  // would see this rank's before, and blame it.
  void hear_reason() const {
    const auto until = Clock::now() + patience_with_reason;
    while ((check_ || (coordinator_ && !has_ended(coordinator_.get()))) && Clock::now() < until) {
      if (check_) check_();
      std::this_thread::sleep_for(1ms);
    }
  }

  void heed() const {
    if (!is_sensible(reply_, config_.size)) throw InitializationFailed("shm", "rank 0 sent an unknown answer");
    switch (reply_.kind) {
      case ReplyKind::Accepted:
      case ReplyKind::Welcome: return;
      case ReplyKind::Refused: throw InitializationFailed("shm", reply_.words());
      case ReplyKind::NoMemory: throw AllocationFailed(where_, reply_.bytes, reply_.words());
      case ReplyKind::Died:
        throw PeerFailed(where_, {.rank = static_cast<std::size_t>(reply_.rank),
                                  .host = {},
                                  .pid = reply_.pid,
                                  .signal = {},
                                  .exit_code = {}});
    }
  }

  Gathering arrive() {
    if (descriptors_.empty()) throw InitializationFailed("shm", "rank 0 sent no segment");
    Mapping segment(where_, descriptors_.front(), reply_.bytes, Access::ReadWrite);
    if (!is_laid_out({segment.data(), segment.bytes()}, config_.size)) {
      throw InitializationFailed("shm", "rank 0 sent a segment that is laid out in another way");
    }
    descriptors_.erase(descriptors_.begin());
    std::vector<std::size_t> process_of;
    for (std::size_t rank = 0; rank < config_.size; ++rank) {
      const std::uint8_t index = reply_.process_of[rank];
      if (index != Reply::here && index >= descriptors_.size()) {
        throw InitializationFailed("shm", "rank 0 did not send a descriptor of every process");
      }
      process_of.push_back(index == Reply::here ? Peers::this_one : index);
    }
    std::vector<core::Descriptor> links;
    links.push_back(std::move(link_));
    return {std::move(segment), Peers(std::move(descriptors_), std::move(process_of)), std::move(links)};
  }

  const ShmConfig& config_;
  const Check& check_;
  Where where_;
  Clock::time_point deadline_;
  Hello hello_;
  core::Descriptor link_;
  core::Descriptor coordinator_;  // its process; none where it is not to be seen from here
  Reply reply_;
  std::vector<core::Descriptor> descriptors_;
};

}  // namespace

Gathering join(const ShmConfig& config, const Check& check) {
  return Joiner(config, check).run();
}

}  // namespace cobre::comm::shm
