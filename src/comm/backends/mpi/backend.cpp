#include <cobre/comm/mpi.hpp>
#include <ferrompi/constants.hpp>
#include <ferrompi/topology.hpp>

#include <sys/socket.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "comm/backends/mpi/config.hpp"
#include "comm/backends/mpi/errors.hpp"
#include "comm/backends/mpi/mail.hpp"
#include "comm/backends/mpi/perform.hpp"
#include "comm/backends/mpi/session.hpp"
#include "comm/backends/mpi/state.hpp"
#include "comm/core/inherited.hpp"
#include "comm/core/moved_from.hpp"
#include "comm/topology/part.hpp"
#include "comm/topology/placement.hpp"

namespace cobre::comm {
namespace {

using StatePtr = std::shared_ptr<detail::MpiState>;

std::shared_ptr<mpi::CollectiveChecker> checker_for(const ferrompi::Communicator& world, const MpiConfig& config) {
  if (!config.check) return nullptr;
  return std::make_shared<mpi::CollectiveChecker>(world, mpi::timeout_of(config), config.warn_after);
}

// Where `cobre-comm run` names the rank that ended first, it would name any of those that MPI_Abort is about to end.
void tell_lookout() noexcept {
  const char* const line = std::getenv("COBRE_COMM_LOOKOUT");
  const int socket = line != nullptr ? core::inherited_descriptor(line) : -1;
  if (socket >= 0) (void)send(socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Watched like the ranks whom `checker` watches: not at all where it is null.
std::shared_ptr<mpi::CollectiveChecker> checker_over(const ferrompi::Communicator& ranks,
                                                     const std::shared_ptr<mpi::CollectiveChecker>& checker) {
  return checker ? std::make_shared<mpi::CollectiveChecker>(ranks, *checker) : nullptr;
}

class NodeRanks final : public LocalCommunicator {
 public:
  NodeRanks(const detail::MpiState& whole, ferrompi::Communicator node)
      : mpi_(whole.mpi), node_(std::move(node)), checker_(checker_over(node_, whole.checker)) {}

  [[nodiscard]] std::size_t rank() const noexcept override { return static_cast<std::size_t>(node_.rank()); }
  [[nodiscard]] std::size_t size() const noexcept override { return static_cast<std::size_t>(node_.size()); }
  void barrier() const override {
    mpi::perform(
        gate_,
        [&] {
          return mpi::CallFacts{{"barrier", rank(), size()}};
        },
        [&] {
          if (checker_) checker_->compare({.operation = detail::Operation::Barrier});
          node_.barrier();
        });
  }

 private:
  std::shared_ptr<ferrompi::Mpi> mpi_;  // declared first: outlives the communicator
  ferrompi::Communicator node_;
  std::shared_ptr<mpi::CollectiveChecker> checker_;
  mutable mpi::Gate gate_;
};

std::vector<topology::PlacementRecord> exchange_placements(const ferrompi::Communicator& world) {
  using Words = std::array<std::uint64_t, sizeof(topology::PlacementRecord) / sizeof(std::uint64_t)>;
  const auto mine = std::bit_cast<Words>(topology::placement_here());
  std::vector<topology::PlacementRecord> records(static_cast<std::size_t>(world.size()));
  std::vector<std::uint64_t> words(mine.size() * records.size());
  world.allgather(mine, words);
  std::memcpy(static_cast<void*>(records.data()), words.data(), words.size() * sizeof(std::uint64_t));
  return records;
}

ExecutionTopology topology_of(const ferrompi::Communicator& world) {
  const auto found = world.topology();
  ExecutionTopology topology;
  topology.backend = BackendKind::Mpi;
  topology.world_size = static_cast<std::size_t>(world.size());
  std::vector<std::string> names(topology.world_size);
  for (const auto& host : found.hosts()) {
    for (const int rank : host.ranks) names[static_cast<std::size_t>(rank)] = host.hostname;
  }
  const auto records = exchange_placements(world);
  topology.hosts = topology::hosts_of(names, records);
  topology.placements = topology::placements_of(records);
  if (world.rank() == 0) topology::warn_of_spanning(topology);
  topology.mpi = {found.library_name(), found.standard_version(), to_string(found.thread_level())};
  if (const auto& job = found.slurm()) {
    topology.slurm = {job->job_id, job->node_list, std::nullopt};
    if (job->cpus_per_task) topology.slurm->cpus_per_task = static_cast<unsigned>(*job->cpus_per_task);
  }
  return topology;
}

// Where they were measured to be faster: on one node. Every rank finds the same here.
std::unique_ptr<mpi::Plans> plans_for(const ferrompi::Communicator& world, const ferrompi::Communicator& node) {
  if (!ferrompi::allreduce_is_faster_again || world.size() == 1 || node.size() != world.size()) return nullptr;
  return std::make_unique<mpi::Plans>();
}

StatePtr state_over(std::shared_ptr<ferrompi::Mpi> mpi, ferrompi::Communicator world,
                    std::shared_ptr<ferrompi::Communicator> node, ExecutionTopology topology, const MpiConfig& config,
                    std::shared_ptr<mpi::Gate> gate, std::shared_ptr<detail::Mailbox> mail) {
  return std::make_shared<detail::MpiState>(detail::MpiState{.mpi = std::move(mpi),
                                                             .world = std::move(world),
                                                             .node = std::move(node),
                                                             .topology = std::move(topology),
                                                             .config = config,
                                                             .gate = std::move(gate),
                                                             .mail = std::move(mail)});
}

// Collective over `world`, which becomes the state's own.
StatePtr make_state(std::shared_ptr<ferrompi::Mpi> mpi, ferrompi::Communicator world, ExecutionTopology topology,
                    const MpiConfig& config) {
  auto node = std::make_shared<ferrompi::Communicator>(world.split_shared());
  auto gate = std::make_shared<mpi::Gate>();
  auto mail = std::make_shared<mpi::Mail>(mpi, world, gate, mpi::timeout_of(config), config.warn_after);
  auto state = state_over(std::move(mpi), std::move(world), std::move(node), std::move(topology), config,
                          std::move(gate), std::move(mail));
  state->plans = plans_for(state->world, *state->node);
  state->checker = checker_for(state->world, config);
  state->node_checker = checker_over(*state->node, state->checker);
  if (state->checker) mpi::CollectiveChecker::relate(state->checker, state->node_checker, mpi::Purpose::Fences);
  return state;
}

StatePtr make_state(std::shared_ptr<ferrompi::Mpi> mpi, const ferrompi::Communicator& comm, const MpiConfig& config) {
  auto world = comm.duplicate();
  auto topology = topology_of(world);
  return make_state(std::move(mpi), std::move(world), std::move(topology), config);
}

template <class Make>
auto translated(Make&& make) {
  try {
    return make();
  } catch (const ferrompi::Error& error) {
    std::throw_with_nested(InitializationFailed("mpi", error.what()));
  }
}

}  // namespace

FerrompiBackend::FerrompiBackend(StatePtr state)
    : state_(std::move(state)),
      rank_(static_cast<std::size_t>(state_->world.rank())),
      size_(static_cast<std::size_t>(state_->world.size())) {}

FerrompiBackend FerrompiBackend::init(ferrompi::ThreadLevel required) {
  return init(required, MpiConfig::from_environment());
}
FerrompiBackend FerrompiBackend::init(ferrompi::ThreadLevel required, const MpiConfig& config) {
  mpi::check(config);
  auto running = mpi::share_mpi(required);
  return translated([&] {
    const auto world = running->world();
    mpi::require_announced_size(world.size());
    return FerrompiBackend(make_state(running, world, config));
  });
}

FerrompiBackend FerrompiBackend::init(MPI_Comm comm) {
  return init(comm, MpiConfig::from_environment());
}
FerrompiBackend FerrompiBackend::init(MPI_Comm comm, const MpiConfig& config) {
  mpi::check(config);
  return translated([&] { return FerrompiBackend(make_state(nullptr, ferrompi::Communicator::borrow(comm), config)); });
}

const detail::MpiState& FerrompiBackend::state(const char* operation) const {
  return core::require_owned(state_, operation);
}

void FerrompiBackend::abort(int code) const {
  if (state_ == nullptr) std::_Exit(code);
  tell_lookout();
  state_->world.abort(code);
}

std::unique_ptr<LocalCommunicator> FerrompiBackend::split_local() const {
  const detail::MpiState& whole = state("split_local");
  return mpi::perform(
      *whole.gate, [&] { return mpi::CallFacts{whole.where("split_local")}; },
      [&] {
        if (whole.node_checker) whole.node_checker->compare({.operation = detail::Operation::Node});
        return std::make_unique<NodeRanks>(whole, whole.node->duplicate());
      });
}

std::optional<FerrompiBackend> FerrompiBackend::make_part(const detail::Division& division) const {
  return mpi::perform(
      *state_->gate, [&] { return mpi::CallFacts{division.where}; },
      [&]() -> std::optional<FerrompiBackend> {
        auto world = state_->world.split(division.part ? static_cast<int>(*division.part) : ferrompi::undefined,
                                         static_cast<int>(division.rank));
        if (!world) return std::nullopt;
        auto state = make_state(state_->mpi, std::move(*world), topology::part_of(state_->topology, division.members()),
                                state_->config);
        if (state_->checker && division.record.operation == detail::Operation::Duplicate) {
          mpi::CollectiveChecker::relate(state_->checker, state->checker, mpi::Purpose::Requests);
        }
        return FerrompiBackend(std::move(state));
      });
}

// What is one call of MPI goes on the communicator itself: MPI tells calls apart by their order, whether anybody waits
// for them or not. What takes several needs one of its own.
detail::LaneSeed<FerrompiBackend> FerrompiBackend::lane_seed(detail::Drive drive) const {
  const detail::MpiState& whole = state("duplicate");
  if (drive == detail::Drive::Thread || whole.checker) return {duplicate(), nullptr};
  auto lane = state_over(whole.mpi, ferrompi::Communicator::borrow(whole.world.native()), whole.node, whole.topology,
                         whole.config, std::make_shared<mpi::Gate>(), whole.mail);
  lane->origin = state_;
  return {FerrompiBackend(std::move(lane)), nullptr};
}

bool FerrompiBackend::is_leader() const {
  return state("is_leader").node->rank() == 0;
}

const ExecutionTopology& FerrompiBackend::topology() const {
  return state("topology").topology;
}

detail::Mailbox& FerrompiBackend::mailbox(const char* operation) const {
  return *state(operation).mail;
}
std::shared_ptr<detail::Mailbox> FerrompiBackend::share_mailbox(const char* operation) const {
  return state(operation).mail;
}

MPI_Comm FerrompiBackend::native() const {
  return state("native").world.native();
}

}  // namespace cobre::comm
