#include "comm/backends/shm/endpoint.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <numeric>

#include "comm/backends/shm/perform.hpp"
#include "comm/backends/shm/scratch.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/format.hpp"
#include "comm/core/waiting_cpus.hpp"
#include "comm/topology/host.hpp"
#include "comm/topology/placement.hpp"

namespace cobre::comm::shm {
namespace {

ChannelBlock& channel_in(const Mapping& segment) {
  return *reinterpret_cast<ChannelBlock*>(segment.data() + channel_offset);
}

// Keeps the memory of the first group for as long as there is one that was made of it; only where somebody looks on.
// Asks for the file at the start: programs that this process starts have no part in it.
algorithms::FirstLeft left_in(const Mapping& segment, std::size_t rank) {
  if (!algorithms::PartTable::of_this_process().looked_at()) return nullptr;
  return segment.share(channel_in(segment).rank(rank).finished.sequence);
}

Channel::Settings settings_for(const ShmConfig& config, const Agreement& agreement) {
  return {.policy = core::wait_policy(config.size, agreement.cpus),
          .asymmetric_fences = agreement.asymmetric_fences,
          .timeout = config.timeout,
          .warn_after = config.warn_after};
}

std::vector<std::size_t> numbers_up_to(std::size_t size) {
  std::vector<std::size_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

}  // namespace

Endpoint::Endpoint(const ShmConfig& config, Gathering gathering, const Endpoint* whole,
                   std::vector<std::size_t> job_ranks)
    : config_(config),
      rank_(config.rank),
      size_(config.size),
      segment_(std::move(gathering.segment)),
      peers_(std::move(gathering.peers)),
      job_(whole != nullptr ? whole->job_ : std::make_shared<const Peers>(peers_)),
      job_ranks_(std::move(job_ranks)),
      first_left_(whole != nullptr ? whole->first_left_ : left_in(segment_, rank_)),
      kin_(whole != nullptr ? whole->kin_ : std::make_shared<core::Kin>()),
      links_(std::move(gathering.links)),
      agreement_(*reinterpret_cast<const Agreement*>(segment_.data())),
      // The ranks that a part leaves out need cores all the same.
      settings_(whole != nullptr ? whole->settings_ : settings_for(config, agreement_)),
      channel_(channel_in(segment_), rank_, size_, peers_, settings_),
      mailroom_(rank_, size_,
                MailPipes({segment_.data() + agreement_.mail_offset, size_, agreement_.pipe_bytes}, channel_, peers_,
                          regions_, guard_, settings_)),
      small_ring_(buffer_of(rank_), small_ring_bytes),
      ring_(ring_of(rank_), agreement_.buffer_bytes - small_ring_bytes),
      reach_(channel_, peers_, regions_),
      copies_({segment_.data() + agreement_.mail_offset, size_, agreement_.pipe_bytes}, rank_, size_),
      sources_(size_),
      exposures_(size_),
      scratch_(std::make_unique<Scratch>(size_ - 1, agreement_.piece_bytes)) {
  segment_.keep_from_children();
  config_.segment_bytes = agreement_.asked_bytes;
  // The pages are there; this spares the first operations the faults of mapping them.
  (void)madvise(segment_.data(), segment_.bytes(), MADV_POPULATE_WRITE);
  kin_->join(this, job_ranks_, [this](std::size_t rank) { channel_.blame(rank); });
  channel_.on_failure([this](std::size_t rank) { miss(rank); });
}

Endpoint::Endpoint(const ShmConfig& config, Gathering gathering)
    : Endpoint(config, std::move(gathering), nullptr, numbers_up_to(config.size)) {
  topology_ = {BackendKind::Shm, size_, {HostInfo{topology::host_name(), {}}}, std::nullopt, topology::slurm_job()};
  for (std::size_t rank = 0; rank < size_; ++rank) topology_.hosts.front().ranks.push_back(rank);
  if (config.widen_ptrace) (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  // Between being welcomed and being here a rank may still fail: nobody waits for it longer than for its coming.
  channel_.set_timeout(config.connect_timeout);
  try_single_copy(agreement_.single_copy);
  const detail::OperationRecord telling{.operation = detail::Operation::Barrier};
  topology_.placements = topology::placements_of(exchange(telling, topology::placement_here()));
  try_ways();
  channel_.set_timeout(config.timeout);
  channel_.block_of(rank_).attached.store(channel_.sequence(), std::memory_order_release);  // pairs with Witness
  if (settings_.policy.shares_cores()) core::move_to_share(rank_, size_);
}

Endpoint::~Endpoint() {
  if (guard_.in_child()) {
    segment_.forget();
    return;
  }
  kin_->leave(this);
  core::crash_point<"shm.depart.begun">();
  channel_.depart();
  core::crash_point<"shm.depart.done">();
}

void Endpoint::barrier(const detail::OperationRecord& record) {
  perform(record, [&] {
    channel_.publish(channel_.open_post());
    channel_.await_posts();
  });
}

const std::byte* Endpoint::shown_by(std::size_t rank, Word offset, std::size_t bytes) {
  if (offset > agreement_.buffer_bytes || bytes > agreement_.buffer_bytes - offset) [[unlikely]] {
    throw_corrupt(rank);
  }
  return buffer_of(rank) + offset;
}

void Endpoint::throw_corrupt(std::size_t rank) const {
  throw CollectiveFailed(channel_.where(), 0,
                         core::format("rank {} points outside of its buffer; its memory is corrupt", rank));
}

void Endpoint::expose(const void* send, void* recv, std::size_t send_bytes, std::size_t recv_bytes) {
  const Place from = regions_.locate(send, send_bytes);
  const Place to = regions_.locate(recv, recv_bytes);
  post(Exposure{from.address, to.address, from.offset, to.offset, from.region, to.region, regions_.live()});
}

const std::vector<Exposure>& Endpoint::exposures() {
  channel_.await_posts();
  Word live = ~Word{0};
  for (std::size_t rank = 0; rank < size_; ++rank) {
    exposures_[rank] = payload_of<Exposure>(rank);
    live &= exposures_[rank].live_regions;
  }
  for (Exposure& exposure : exposures_) {
    if (!regions_.in(live, exposure.send_region)) exposure.send_region = 0;
    if (!regions_.in(live, exposure.recv_region)) exposure.recv_region = 0;
  }
  return exposures_;
}

void Endpoint::abort(int code) noexcept {
  if (!guard_.in_child()) {
    channel_.finish("this rank aborted the job");
    // A process may want to tidy up; one that does not end by itself is ended.
    job_->signal_all(SIGTERM);
    const auto everyone_gone = [&] {
      const RankSet dead = job_->dead();
      for (std::size_t rank = 0; rank < job_->size(); ++rank) {
        if (!(*job_)[rank].same_process && !dead.test(rank)) return false;
      }
      return true;
    };
    for (int waited = 0; waited < 200 && !everyone_gone(); ++waited) (void)poll(nullptr, 0, 1);
    job_->signal_all(SIGKILL);
  }
  // Not exit(): destructors of static objects must not run in the middle of whatever the caller was doing.
  std::_Exit(code);
}

}  // namespace cobre::comm::shm
