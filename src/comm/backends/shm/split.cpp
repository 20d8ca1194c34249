// Parts of a group: rank 0 makes a segment for each, with links from its members to its first one, and hands them round
// over the links of the whole. Whom to watch is known already.

#include <cobre/comm/detail/division.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/perform.hpp"
#include "comm/backends/shm/segment.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/topology/part.hpp"

namespace cobre::comm::shm {
namespace {

// What one rank gets: the segment of its part and its links, or nothing where it is of no part.
struct Share {
  std::uint64_t bytes = 0;
  std::vector<core::Descriptor> descriptors;
};

[[noreturn]] void throw_too_few_files(const Where& where, std::uint64_t bytes) {
  throw AllocationFailed(
      where, bytes,
      core::format("rank 0 could not open enough files ({}); raise its limit (ulimit -n)", std::strerror(errno)));
}

core::Descriptor copy_of(const Where& where, const core::Descriptor& memory, std::uint64_t bytes) {
  core::Descriptor copy(fcntl(memory.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) throw_too_few_files(where, bytes);
  return copy;
}

// On rank 0: everything that all ranks get, or AllocationFailed.
std::vector<Share> make_shares(const detail::Division& division, ShmConfig config, const Agreement& whole) {
  const Where& where = division.where;
  std::vector<Share> shares(where.size);
  for (const auto& members : division.parts) {
    config.size = members.size();
    const Agreement plan = plan_segment(config, whole.cpus, whole.asymmetric_fences);
    const core::Descriptor memory = create_memory(where, plan.segment_bytes);
    const Mapping segment(where, memory, plan.segment_bytes, Access::ReadWrite);
    new (segment.data()) Agreement(plan);
    for (const std::size_t member : members) {
      shares[member].bytes = plan.segment_bytes;
      shares[member].descriptors.push_back(copy_of(where, memory, plan.segment_bytes));
    }
    for (std::size_t rank = 1; rank < members.size(); ++rank) {
      std::array<int, 2> ends{};
      if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
        throw_too_few_files(where, plan.segment_bytes);
      }
      shares[members.front()].descriptors.emplace_back(ends[0]);
      shares[members[rank]].descriptors.emplace_back(ends[1]);
    }
  }
  return shares;
}

// The same, or in `news` why there is nothing.
std::vector<Share> make_shares_or_say(const detail::Division& division, const ShmConfig& config, const Agreement& whole,
                                      Reply& news) {
  try {
    return make_shares(division, config, whole);
  } catch (const AllocationFailed& error) {
    news.kind = ReplyKind::NoMemory;
    news.bytes = error.requested_bytes();
    news.say(reason_in(error));
    return std::vector<Share>(division.where.size);
  }
}

// To everyone else what it gets, over the link to it.
void hand_round(const std::vector<Share>& shares, const Reply& news, const std::vector<core::Descriptor>& links) {
  for (std::size_t rank = 1; rank < shares.size(); ++rank) {
    Reply message = news;
    if (news.kind == ReplyKind::Welcome) message.bytes = shares[rank].bytes;
    std::vector<int> descriptors;
    for (const auto& descriptor : shares[rank].descriptors) descriptors.push_back(descriptor.get());
    // A peer that cannot be told is dead, which the next step finds out.
    (void)send_message(links[rank], message, descriptors);
    core::crash_point<"shm.share_handed">();
  }
}

}  // namespace

Endpoint::Endpoint(const Endpoint& whole, const detail::Division& division, Gathering gathering)
    : Endpoint(
          [&] {
            ShmConfig config = whole.config_;
            config.rank = division.rank;
            config.size = division.members().size();
            config.witness = -1;
            return config;
          }(),
          std::move(gathering), &whole,
          [&] {
            std::vector<std::size_t> ranks;
            for (const std::size_t member : division.members()) ranks.push_back(whole.job_ranks_[member]);
            return ranks;
          }()) {
  topology_ = topology::part_of(whole.topology_, division.members());
  if (division.record.operation == detail::Operation::Duplicate) {
    channel_.stand_beside(whole.segment_.share(whole.channel_.block()));
  }
  // Found out between all ranks of the whole, so true of these; and all of them have the same opinion.
  single_copy_ = whole.single_copy_;
  mailroom_.pipes().use_single_copy(single_copy_);
  stream_rooted_ = whole.stream_rooted_;
  stream_symmetric_ = whole.stream_symmetric_;
  kernel_exchanges_ = whole.kernel_exchanges_;
  mailroom_.pipes().use_streaming(stream_rooted_);
}

std::shared_ptr<Endpoint> Endpoint::split(const detail::Division& division) {
  const Where& where = division.where;
  Reply reply;
  reply.kind = ReplyKind::Welcome;
  Share own;
  if (rank_ == 0) {
    auto shares = make_shares_or_say(division, config_, agreement_, reply);
    core::crash_point<"shm.shares_made">();
    hand_round(shares, reply, links_);
    own = std::move(shares[0]);
  }
  barrier(division.record);  // the answer of rank 0 lies in every link

  const bool told = rank_ == 0 || receive_message(links_[0], reply, own.descriptors) == Received::Message;
  if (rank_ != 0 || reply.kind == ReplyKind::NoMemory) own.bytes = reply.bytes;
  const std::size_t expected = !division.part ? 0 : division.rank > 0 ? 2 : division.members().size();
  bool ready = told && reply.kind == ReplyKind::Welcome && own.descriptors.size() == expected;
  Mapping segment;
  if (ready && division.part) {
    try {
      segment = Mapping(where, own.descriptors.front(), own.bytes, Access::ReadWrite);
    } catch (const AllocationFailed&) {
      ready = false;
    }
  }
  core::crash_point<"shm.share_taken">();
  const auto outcomes = exchange(division.record, Word{ready});
  for (std::size_t rank = 0; rank < size_; ++rank) {
    if (outcomes[rank] != 0) continue;
    const bool no_memory = told && reply.kind == ReplyKind::NoMemory;
    throw AllocationFailed(where, own.bytes,
                           no_memory ? reply.words()
                                     : core::format("rank {} could not take its share; see its limits of address space "
                                                    "and of open files",
                                                    rank));
  }
  if (!division.part) return nullptr;

  std::vector<core::Descriptor> links;
  if (division.rank == 0) links.emplace_back();  // no link to oneself
  for (std::size_t i = 1; i < own.descriptors.size(); ++i) links.push_back(std::move(own.descriptors[i]));
  return std::make_shared<Endpoint>(*this, division,
                                    Gathering{std::move(segment), peers_.part(division.members()), std::move(links)});
}

}  // namespace cobre::comm::shm
