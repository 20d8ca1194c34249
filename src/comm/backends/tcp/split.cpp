// Parts of a job: the ranks of each open new doors, tell each other the ports over the whole, and connect as they did
// at the start. Nobody else can know the key of a part. What the ranks of a host share is split likewise.

#include <cobre/comm/detail/division.hpp>

#include <algorithm>
#include <exception>
#include <numeric>

#include "comm/backends/tcp/on_host.hpp"
#include "comm/backends/tcp/part_doors.hpp"
#include "comm/backends/tcp/perform.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/core/progress.hpp"
#include "comm/topology/part.hpp"

namespace cobre::comm::tcp {
namespace {

using namespace std::chrono_literals;

// Who makes a lane comes on when its program calls, however long it computes before.
constexpr std::chrono::milliseconds patience_with_callers = 10min;

#ifdef COBRE_COMM_HAS_SHM
// The same division, of the ranks of one host.
detail::Division division_of_host(const detail::Division& division, const Hosts& hosts) {
  const auto& neighbours = hosts.neighbours();
  detail::Division local{{division.where.operation, hosts.place, neighbours.size()}, division.record, {}, {}, 0};
  for (const auto& members : division.parts) {
    std::vector<std::size_t> places;
    for (const std::size_t member : members) {
      const auto neighbour = std::ranges::find(neighbours, member);
      if (neighbour == neighbours.end()) continue;
      const auto place = static_cast<std::size_t>(neighbour - neighbours.begin());
      if (place == hosts.place) {
        local.part = local.parts.size();
        local.rank = places.size();
      }
      places.push_back(place);
    }
    if (!places.empty()) local.parts.push_back(std::move(places));
  }
  return local;
}
#endif

}  // namespace

std::vector<std::shared_ptr<core::Backlog>> Endpoint::backlogs(const std::shared_ptr<Endpoint>& self) {
  std::vector<std::shared_ptr<core::Backlog>> all{{self, &self->backlog_}};
#ifdef COBRE_COMM_HAS_SHM
  if (self->shared_ != nullptr) all.push_back(shm::Endpoint::backlog(self->shared_));
#endif
  return all;
}

Endpoint::Endpoint(const std::shared_ptr<Endpoint>& whole, const detail::Division& division)
    : config_(whole->config_),
      whole_(whole),
      rank_(division.rank),
      size_(division.members().size()),
      kin_(whole->kin_),
      ledger_(-1),  // the launcher's file belongs to the job's first communicator, but for one note
      made_(algorithms::made_by(division.record.operation)),
      first_left_(whole->first_left_),
      surroundings_(std::make_shared<Surroundings>(ledger_.share_journal())) {
  if (made_ == algorithms::MadeBy::Duplicate) base_ = whole->surroundings_;
  for (const std::size_t member : division.members()) job_ranks_.push_back(whole->job_ranks_[member]);
  config_.rank = rank_;
  config_.size = size_;
  config_.ledger = config_.witness = -1;
  // The ranks that a part leaves out need cores all the same.
  policy_ = whole->policy_;
  topology_ = topology::part_of(whole->topology_, division.members());
  if (size_ == 1) open_mailroom(ledger_.mail());
}

// One list a rank.
std::vector<std::vector<Address::Wire>> Endpoint::gather_doors(const detail::OperationRecord& record,
                                                               const std::vector<Address::Wire>& own) {
  const std::vector<std::size_t> ones(size_, 1);
  std::vector<std::size_t> displs(size_);
  std::iota(displs.begin(), displs.end(), std::size_t{0});
  const std::size_t length = own.size();
  std::vector<std::size_t> lengths(size_);
  execute(record, detail::AllgathervCall{&length, lengths.data(), ones, displs, sizeof length});
  if (const auto liar = who_claims_too_many(lengths)) {
    finish(sentinel_->failure_of(*liar));
    throw CollectiveFailed(
        {detail::to_string(record.operation), rank_, size_}, 0,
        core::format("rank {} says that it has {} open doors; its memory, or the network, is corrupt", *liar,
                     lengths[*liar]));
  }
  std::exclusive_scan(lengths.begin(), lengths.end(), displs.begin(), std::size_t{0});
  std::vector<Address::Wire> all(displs.back() + lengths.back());
  execute(record, detail::AllgathervCall{own.data(), all.data(), lengths, displs, sizeof(Address::Wire)});
  std::vector<std::vector<Address::Wire>> lists;
  for (std::size_t rank = 0; rank < size_; ++rank) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(displs[rank]);
    lists.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(lengths[rank]));
  }
  return lists;
}

// Collective over the whole, whoever needs the network.
Gathering Endpoint::open_doors(const detail::Division& division, bool networked, Outcome& outcome) {
  const auto fail = [&](const std::string& words) {
    outcome.reached = Reached::Unreachable;
    outcome.text.say(words);
  };
  Gathering gathering;
  gathering.source = source_;
  std::vector<Address::Wire> own;
  try {
    for (std::size_t i = 0; networked && i < doors_.size(); ++i) {
      gathering.doors.push_back(open_door(doors_[i]));
      own.push_back(Address::local_of(gathering.doors.back().get()).to_wire());
    }
  } catch (const InitializationFailed& error) {
    fail(error.what());
  }
  core::crash_point<"tcp.part_doors_open">();
  const auto doors = gather_doors(division.record, own);
  gathering.deadline =
      Clock::now() +
      (core::is_beside_caller() ? std::max(config_.connect_timeout, patience_with_callers) : config_.connect_timeout);
  if (!division.part) return gathering;

  const auto& members = division.members();
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    Member member = members_[members[rank]];
    member.rank = static_cast<std::uint32_t>(rank);
    member.size = static_cast<std::uint32_t>(members.size());
    if (networked && outcome.reached == Reached::All) {
      const auto door = door_among(doors[members[rank]], member.door);
      if (!door) fail(core::format("rank {} has no open door", rank));
      member.door = door.value_or(member.door);
    }
    gathering.members.push_back(member);
  }
  struct {
    std::uint64_t division;
    std::uint64_t part;
  } const which{divisions_, *division.part};
  gathering.link_key = authenticate(link_key_, {label("cobre-comm tcp: links of part"), raw(which)});
  return gathering;
}

#ifdef COBRE_COMM_HAS_SHM
// Of the ranks of this host, whom other hosts wait for as well: where one of them fails, those must hear which.
std::shared_ptr<shm::Endpoint> Endpoint::split_memory(const detail::Division& division) {
  if (sentinel_ == nullptr) return shared_->split(division);
  std::shared_ptr<shm::Endpoint> part;
  std::exception_ptr no_room;
  try {
    on_host(division.record, [&](shm::Endpoint& host, const auto&) {
      try {
        part = host.split(division);
      } catch (const AllocationFailed&) {  // on all of them, and the whole is as good as before
        no_room = std::current_exception();
      }
    });
  } catch (...) {
    finish(sentinel_->failure_of(rank_));
    throw;
  }
  if (no_room != nullptr) std::rethrow_exception(no_room);
  return part;
}
#endif

// Collective over the whole: all parts can be used, or none.
void Endpoint::confirm_parts(const detail::Division& division, Outcome outcome) {
  // What a rank could not reach says more than what another one waits for.
  auto failed = first_failure(division.record, outcome.reached != Reached::Unreachable);
  if (!failed) failed = first_failure(division.record, outcome.reached == Reached::All);
  if (!failed) return;
  detail::OperationRecord telling = division.record;
  telling.root = *failed;
  execute(telling, detail::BroadcastCall{&outcome, sizeof outcome, *failed});
  throw CollectiveFailed(
      division.where, 0,
      core::format("the ranks of a part cannot reach each other; rank {} says, in the numbers of its part: {}", *failed,
                   outcome.text.words()));
}

void Endpoint::connect_part(const detail::Division& division, Endpoint* part, bool networked) {
  Outcome outcome;
  Gathering gathering = open_doors(division, networked, outcome);
  if (part != nullptr) part->keep_facts(gathering);
  if (networked && outcome.reached == Reached::All) {
    const auto check = [&] {
      // Nobody is through before all are: who leaves now has failed.
      for (std::size_t rank = 0; rank < size_; ++rank) {
        if (!sentinel_->finished() && sentinel_->departed(rank)) sentinel_->report(sentinel_->failure_of(rank));
      }
      if (sentinel_->finished()) sentinel_->conclude(division.where);
      if (core::footing() == core::Footing::Fiber) (void)core::give_way();
    };
    try {
      outcome = part->connect(std::move(gathering), check);
    } catch (const InitializationFailed& error) {
      outcome.reached = Reached::Unreachable;
      outcome.text.say(error.what());
    }
  }
  core::crash_point<"tcp.part_connected">();
  confirm_parts(division, outcome);
}

std::shared_ptr<Endpoint> Endpoint::split(const std::shared_ptr<Endpoint>& whole, const detail::Division& division) {
  ++whole->divisions_;
  std::exception_ptr failure;
  const auto part = division.part ? std::make_shared<Endpoint>(whole, division) : nullptr;
#ifdef COBRE_COMM_HAS_SHM
  if (whole->shared_ != nullptr) {
    auto shared = whole->split_memory(division_of_host(division, whole->hosts_));
    if (part != nullptr) part->shared_ = std::move(shared);
  }
#endif
  bool networked = false;
  if (part != nullptr) {
    Gathering known;
    for (const std::size_t member : division.members()) {
      known.members.push_back(whole->members_[member]);
      known.members.back().rank = static_cast<std::uint32_t>(known.members.size() - 1);
    }
    part->keep_facts(known);
    networked = part->size_ > 1 && !part->on_one_host();
  }
  // Alone, or all in one memory: so are the parts.
  if (whole->sentinel_ != nullptr) whole->connect_part(division, part.get(), networked);
  if (part != nullptr && part->size_ > 1) {
#ifdef COBRE_COMM_HAS_SHM
    if (!networked && part->shared_ != nullptr) {
      part->shared_->set_patience(part->config_.timeout, part->config_.warn_after);
    }
#endif
    try {
      part->complete({});
    } catch (const CommError&) {
      if (whole->sentinel_ == nullptr) throw;
      failure = std::current_exception();
    }
#ifdef COBRE_COMM_HAS_SHM
    if (part->sentinel_ == nullptr && part->shared_ != nullptr) {
      part->shared_->be_noted(part->made_, part->first_left_);
    }
#endif
  }
  // Nobody uses a part, and fails in it, while another rank is still coming to it. A rank that failed the part fails
  // this too, and here it has the name by which the caller knows it.
  if (whole->sentinel_ != nullptr) whole->agree(division.record);
  if (failure != nullptr) std::rethrow_exception(failure);
  if (part != nullptr && part->base_ != nullptr && part->sentinel_ != nullptr) {
    std::erase_if(whole->duplicates_, [](const auto& one) { return one.expired(); });
    whole->duplicates_.push_back(part);
  }
  return part;
}

}  // namespace cobre::comm::tcp
