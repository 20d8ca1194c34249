// The rendezvous as rank 0 sees it: take in who comes, turn away who must not, and when all are there give them the
// segment. One poll loop over everyone, so that a slow or silent visitor delays nobody.

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/rendezvous.hpp"
#include "comm/backends/shm/segment.hpp"
#include "comm/backends/shm/witness.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::shm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto patience_with_visitor = 2s;                 // from connecting to its hello
constexpr auto patience_with_predecessor = 1s;             // an earlier group of that name may be on its way out
constexpr auto patience_with_latecomers = 1s;              // who shall hear why there will be no group
constexpr std::size_t most_visitors = largest_group + 64;  // that have connected and not said hello
constexpr int most_accepted_at_once = 64;                  // between two looks at the clock and at everybody else

struct Visitor {
  core::Descriptor link;
  Clock::time_point deadline;
};

struct Member {
  bool here = false;
  core::Descriptor link;
  core::Descriptor process;
  Hello hello;
};

class Coordinator {
 public:
  Coordinator(const ShmConfig& config, const Check& check)
      : config_(config),
        check_(check),
        where_{"attach", config.rank, config.size},
        deadline_(Clock::now() + config.connect_timeout),
        members_(config.size) {
    Member& self = members_[0];
    self.here = true;
    self.hello = hello_of(config);
    self.process = process_to_watch();
  }

  Gathering run() {
    core::crash_point<"shm.coordinate.begun">();
    plan();
    if (config_.size > 1) {
      open_door();
      core::crash_point<"shm.coordinate.door_open">();
      while (present_ < config_.size && !time_is_up()) {
        if (check_ && !doom_) check_();
        admit();
      }
      if (doom_) std::rethrow_exception(doom_->error);
      core::crash_point<"shm.coordinate.all_here">();
      // Before anyone is let go: who attaches again under the same name must not find this door.
      listener_ = {};
      visitors_.clear();
    }
    return hand_out();
  }

 private:
  /// There will be no group.
  struct Doom {
    std::exception_ptr error;  // for this rank …
    Reply news;                // … and for the others
    Clock::time_point until;   // somebody may still come to hear of it
  };

  // Who is here hears so at once. Those who are still to come shall hear it too, and not wait for a rank 0 that has
  // gone.
  void doom(std::exception_ptr error, const Reply& news) {
    doom_ = {std::move(error), news, std::min(deadline_, Clock::now() + patience_with_latecomers)};
    tell_members(news);
  }
  [[nodiscard]] bool time_is_up() const { return doom_ && Clock::now() >= doom_->until; }

  // This rank's wishes hold for all, so what is wrong with them concerns all.
  void plan() {
    try {
      (void)plan_segment(config_, 1, false);
    } catch (const InvalidConfiguration&) {
      if (config_.size == 1) throw;
      doom(std::current_exception(),
           refusal(core::format("segment_bytes of rank 0, which holds for all, is {}, but must be at least {}, because "
                                "{} ranks share it",
                                config_.segment_bytes, smallest_segment(config_.size), config_.size)));
    }
  }

  void open_door() {
    const std::string name = socket_name(config_.name);
    const auto give_up = std::min(deadline_, Clock::now() + patience_with_predecessor);
    for (;;) {
      listener_ = open_socket();
      const int error = bind_to(listener_, name);
      if (error == 0) break;
      if (error != EADDRINUSE) {
        throw InitializationFailed("shm", core::format("rank 0 cannot listen ({})", std::strerror(error)));
      }
      const core::Descriptor probe = open_socket();
      const bool reached = connect_to(probe, name) == 0;
      const Owner owner = reached ? owner_of(probe) : Owner{geteuid(), 0};
      if (owner.uid != geteuid()) throw_foreign_owner(config_.name, owner.uid);
      if (Clock::now() >= give_up) {
        throw InitializationFailed(
            "shm",
            core::format("another rank 0 of a group named {} is starting{}; give each job its own COBRE_SHM_NAME, "
                         "and each rank of a job its own COBRE_SHM_RANK",
                         core::quoted(config_.name), reached ? core::format(" in process {}", owner.pid) : ""));
      }
      std::this_thread::sleep_for(2ms);
    }
    if (listen(listener_.get(), static_cast<int>(most_visitors)) != 0) {
      throw InitializationFailed("shm", core::format("rank 0 cannot listen ({})", std::strerror(errno)));
    }
  }

  // One turn of the loop.
  void admit() {
    std::vector<pollfd> entries{{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    for (const Visitor& visitor : visitors_) entries.push_back({visitor.link.get(), POLLIN, 0});
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 1; rank < members_.size() && !doom_; ++rank) {
      if (!members_[rank].here) continue;
      entries.push_back({members_[rank].link.get(), POLLIN, 0});
      ranks.push_back(rank);
    }
    const auto now = Clock::now();
    if (now >= deadline_ && !doom_) give_up_on_missing();
    const auto until = doom_ ? doom_->until : deadline_;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
    if (poll(entries.data(), entries.size(), static_cast<int>(std::clamp<long>(left, 0, check_ ? 10 : 100))) < 0)
      return;

    const std::size_t first_member = 1 + visitors_.size();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      // A member says nothing until the group is complete: whatever comes is its end.
      if (entries[first_member + i].revents != 0 && !doom_) mourn(ranks[i]);
    }
    std::vector<Visitor> waiting;
    for (std::size_t i = 0; i < visitors_.size(); ++i) {
      Visitor& visitor = visitors_[i];
      const bool stays = entries[1 + i].revents == 0 ? Clock::now() < visitor.deadline : !listen_to(visitor);
      if (stays) waiting.push_back(std::move(visitor));
    }
    visitors_ = std::move(waiting);
    if (entries[0].revents != 0) accept_visitors();
  }

  // Whoever knocks without end does not keep this rank here.
  void accept_visitors() {
    for (int count = 0; count < most_accepted_at_once && visitors_.size() < most_visitors; ++count) {
      core::Descriptor link(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!link) return;
      if (owner_of(link).uid != geteuid()) continue;  // another user: nothing is read, nothing is said
      visitors_.push_back({std::move(link), Clock::now() + patience_with_visitor});
    }
  }

  // True where the visitor has become a member or was sent away.
  bool listen_to(Visitor& visitor) {
    Hello hello;
    std::vector<core::Descriptor> descriptors;
    switch (receive_message(visitor.link, hello, descriptors)) {
      case Received::Nothing: return false;
      case Received::Closed:
      case Received::Malformed: return true;
      case Received::Message: break;
    }
    const Hello expected;
    if (hello.magic != expected.magic || hello.layout != expected.layout) {
      refuse(visitor.link,
             "another version of this library is rank 0 of this group; build all ranks with the same one");
      return true;
    }
    if (hello.name_check != name_check(config_.name) || descriptors.size() != 1) return true;
    if (hello.size != config_.size) give_up_on_size(visitor.link, hello);
    if (hello.rank == 0 || hello.rank >= config_.size) return true;  // cannot come from this library
    Member& place = members_[hello.rank];
    if (place.here) {
      refuse(visitor.link, core::format("rank {} of the group {} is taken by process {}; give each rank its own "
                                        "COBRE_SHM_RANK, and each job its own COBRE_SHM_NAME",
                                        hello.rank, core::quoted(config_.name), place.hello.process.pid));
      return true;
    }
    if (!send_message(visitor.link, doom_ ? doom_->news : Reply{})) return true;
    place = {.here = true, .link = std::move(visitor.link), .process = std::move(descriptors.front()), .hello = hello};
    ++present_;
    core::crash_point<"shm.coordinate.admitted">();
    return true;
  }

  static Reply refusal(std::string_view words) {
    Reply reply;
    reply.kind = ReplyKind::Refused;
    reply.say(words);
    return reply;
  }
  static void refuse(const core::Descriptor& link, std::string_view words) { (void)send_message(link, refusal(words)); }

  void tell_members(const Reply& reply) const {
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      if (members_[rank].here) (void)send_message(members_[rank].link, reply);
    }
  }

  [[noreturn]] void give_up(const std::string& words) const {
    tell_members(refusal(words));
    throw InitializationFailed("shm", words);
  }

  [[noreturn]] void give_up_on_missing() const {
    std::vector<std::size_t> missing;
    for (std::size_t rank = 0; rank < members_.size(); ++rank) {
      if (!members_[rank].here) missing.push_back(rank);
    }
    give_up(
        core::format("of {} ranks, {} did not come to the group {} within {} ms; start all of them on this machine "
                     "with the same COBRE_SHM_NAME",
                     config_.size, core::rank_list(missing, core::all_of_them), core::quoted(config_.name),
                     config_.connect_timeout.count()));
  }

  [[noreturn]] void give_up_on_size(const core::Descriptor& link, const Hello& hello) const {
    const std::string words =
        core::format("rank {} came to the group {} with COBRE_SHM_SIZE {}, but rank 0 has {}; give all ranks the same",
                     hello.rank, core::quoted(config_.name), hello.size, config_.size);
    refuse(link, words);
    give_up(words);
  }

  void mourn(std::size_t rank) {
    Reply news;
    news.kind = ReplyKind::Died;
    news.rank = static_cast<std::int32_t>(rank);
    news.pid = members_[rank].hello.process.pid;
    const FailedPeer casualty{.rank = rank, .host = {}, .pid = news.pid, .signal = {}, .exit_code = {}};
    doom(std::make_exception_ptr(PeerFailed(where_, casualty)), news);
  }

  [[nodiscard]] Agreement agree() const {
    core::CpuMask cpus{};
    std::size_t quota = members_[0].hello.cpu_quota;
    bool fences = true;
    for (const Member& member : members_) {
      for (std::size_t i = 0; i < cpus.size(); ++i) cpus[i] |= member.hello.cpus[i];
      quota = std::min<std::size_t>(quota, member.hello.cpu_quota);
      fences = fences && member.hello.fences != 0;
    }
    return plan_segment(config_, std::min(core::count(cpus), quota), fences);
  }

  core::Descriptor make_segment(const Agreement& agreement) const {
    try {
      return create_memory(where_, agreement.segment_bytes);
    } catch (const AllocationFailed& error) {
      Reply reply;
      reply.kind = ReplyKind::NoMemory;
      reply.bytes = agreement.segment_bytes;
      reply.say(reason_in(error));
      tell_members(reply);
      throw;
    }
  }

  // Each process once, as seen from the process of `rank`.
  struct View {
    std::vector<int> descriptors;
    std::vector<std::size_t> process_of;
  };
  [[nodiscard]] View view_of(std::size_t rank) const {
    View view;
    std::vector<ProcessIdentity> known;
    for (const Member& member : members_) {
      const ProcessIdentity& process = member.hello.process;
      if (process == members_[rank].hello.process) {
        view.process_of.push_back(Peers::this_one);
        continue;
      }
      const auto place = std::ranges::find(known, process);
      view.process_of.push_back(static_cast<std::size_t>(place - known.begin()));
      if (place != known.end()) continue;
      known.push_back(process);
      view.descriptors.push_back(member.process.get());
    }
    return view;
  }

  [[nodiscard]] bool welcome(std::size_t rank, const core::Descriptor& memory, const Agreement& agreement) const {
    const View view = view_of(rank);
    Reply reply;
    reply.kind = ReplyKind::Welcome;
    reply.bytes = agreement.segment_bytes;
    std::vector<int> descriptors{memory.get()};
    descriptors.insert(descriptors.end(), view.descriptors.begin(), view.descriptors.end());
    for (std::size_t r = 0; r < members_.size(); ++r) {
      reply.process_of[r] =
          view.process_of[r] == Peers::this_one ? Reply::here : static_cast<std::uint8_t>(view.process_of[r]);
    }
    return send_message(members_[rank].link, reply, descriptors);
  }

  // Release: pairs with the acquire in check_for_failure().
  static void mark_as_left(ChannelBlock& channel, std::size_t rank) noexcept {
    channel.rank(rank).presence.store(static_cast<std::uint32_t>(Presence::Left), std::memory_order_release);
  }

  Gathering hand_out() {
    const Agreement agreement = agree();
    const core::Descriptor memory = make_segment(agreement);
    Mapping segment(where_, memory, agreement.segment_bytes, Access::ReadWrite);
    new (segment.data()) Agreement(agreement);
    auto& channel = *reinterpret_cast<ChannelBlock*>(segment.data() + channel_offset);
    core::crash_point<"shm.coordinate.segment_made">();
    if (config_.witness >= 0) admit_witness(config_.witness, memory, agreement.segment_bytes, config_.size);
    try {
      for (std::size_t rank = 1; rank < members_.size(); ++rank) {
        // One that has gone meanwhile is to the others, who have been welcomed, a rank that has left.
        if (!welcome(rank, memory, agreement)) mark_as_left(channel, rank);
        core::crash_point<"shm.coordinate.welcomed">();
      }
    } catch (...) {
      mark_as_left(channel, 0);  // some have been welcomed, and would wait for as long as this process lives
      throw;
    }
    View view = view_of(0);
    std::vector<core::Descriptor> processes(view.descriptors.size());
    for (std::size_t r = 0; r < members_.size(); ++r) {
      const std::size_t process = view.process_of[r];
      if (process != Peers::this_one && !processes[process]) processes[process] = std::move(members_[r].process);
    }
    std::vector<core::Descriptor> links(members_.size());
    for (std::size_t rank = 1; rank < members_.size(); ++rank) links[rank] = std::move(members_[rank].link);
    return {std::move(segment), Peers(std::move(processes), std::move(view.process_of)), std::move(links)};
  }

  const ShmConfig& config_;
  const Check& check_;
  Where where_;
  Clock::time_point deadline_;
  core::Descriptor listener_;
  std::vector<Visitor> visitors_;
  std::vector<Member> members_;  // by rank
  std::size_t present_ = 1;
  std::optional<Doom> doom_;
};

}  // namespace

Gathering coordinate(const ShmConfig& config, const Check& check) {
  return Coordinator(config, check).run();
}

}  // namespace cobre::comm::shm
