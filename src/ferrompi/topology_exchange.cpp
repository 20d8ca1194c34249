#include "ferrompi/topology_exchange.hpp"

#include <ferrompi/detail/checks.hpp>
#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/environment.hpp>
#include <ferrompi/error.hpp>
#include <ferrompi/slurm.hpp>

#include "ferrompi/text.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace ferrompi {

namespace detail {

namespace {

constexpr const char* own_operation = "topology";

std::string processor_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  check(MPI_Get_processor_name(name.data(), &length), own_operation);
  return std::string(name.data(), static_cast<std::size_t>(length));
}

std::optional<SlurmInfo> slurm_info() {
  auto job = slurm::job_id();
  if (!job) return std::nullopt;
  return SlurmInfo{std::move(*job), slurm::node_list(), slurm::cpus_per_task()};
}

/// One text of any length from every rank, in rank order.
std::vector<std::string> allgather_texts(const Communicator& comm, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(ranks);
  check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm.native()), own_operation);
  std::vector<int> starts(ranks);
  std::int64_t total = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    starts[rank] = static_cast<int>(total);
    total += lengths[rank];
    if (total > INT32_MAX) throw InternalError(own_operation, "topology: the names of all hosts exceed 2 GiB");
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  check(
      MPI_Allgatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, comm.native()),
      own_operation);
  std::vector<std::string> texts(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    texts[rank] = all.substr(static_cast<std::size_t>(starts[rank]), static_cast<std::size_t>(lengths[rank]));
  }
  return texts;
}

/// Rank 0's text of any length.
std::string broadcast_text(const Communicator& comm, std::string text) {
  int length = static_cast<int>(text.size());
  check(MPI_Bcast(&length, 1, MPI_INT, 0, comm.native()), own_operation);
  text.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(text.data(), length, MPI_CHAR, 0, comm.native()), own_operation);
  return text;
}

/// Before anything else is exchanged every rank hears whether every rank is well, so that none waits for one that left.
void agree_that_all_succeeded(const Communicator& comm, const std::string& failure) {
  const auto failures = allgather_texts(comm, failure);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (!failures[rank].empty()) {
      throw InternalError(own_operation,
                          text_of("topology: rank ", rank, " cannot tell where it runs: ", failures[rank]));
    }
  }
}

std::vector<HostEntry> group_by_host(std::vector<std::string> names) {
  std::vector<HostEntry> hosts;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto [place, is_new] = places.try_emplace(std::move(names[rank]), hosts.size());
    if (is_new) hosts.push_back({place->first, {}});
    hosts[place->second].ranks.push_back(static_cast<int>(rank));
  }
  return hosts;
}

}  // namespace

LocalFacts local_facts() {
  LocalFacts facts;
  try {
    facts.hostname = processor_name();
    facts.library_version = Mpi::library_version();
    facts.standard_version = Mpi::version();
    facts.thread_level = thread_level();
    facts.slurm = slurm_info();
  } catch (const std::exception& error) {
    facts.failure = *error.what() != '\0' ? error.what() : "an exception without a text";
  }
  return facts;
}

TopologyInfo exchange_topology(const Communicator& comm, const LocalFacts& mine) {
  agree_that_all_succeeded(comm, mine.failure);

  auto hosts = group_by_host(allgather_texts(comm, mine.hostname));
  auto library = broadcast_text(comm, mine.library_version);
  auto standard = broadcast_text(comm, mine.standard_version);

  int level = static_cast<int>(mine.thread_level);
  check(MPI_Allreduce(MPI_IN_PLACE, &level, 1, MPI_INT, MPI_MIN, comm.native()), own_operation);

  // Numbers that say what rank 0 has: a job, a list, CPUs for each task.
  int has[3] = {mine.slurm.has_value(), mine.slurm && mine.slurm->node_list,
                mine.slurm && mine.slurm->cpus_per_task ? *mine.slurm->cpus_per_task : -1};
  check(MPI_Bcast(has, 3, MPI_INT, 0, comm.native()), own_operation);
  std::optional<SlurmInfo> slurm;
  if (has[0] != 0) {
    const SlurmInfo none;
    const auto& known = mine.slurm ? *mine.slurm : none;
    slurm.emplace();
    slurm->job_id = broadcast_text(comm, known.job_id);
    if (has[1] != 0) slurm->node_list = broadcast_text(comm, known.node_list.value_or(""));
    if (has[2] >= 0) slurm->cpus_per_task = has[2];
  }
  return TopologyInfo(std::move(hosts), std::move(library), std::move(standard), static_cast<ThreadLevel>(level),
                      std::move(slurm));
}

}  // namespace detail

// Looked at before anything else: what a rank finds out alone asks MPI too.
TopologyInfo Communicator::topology() const {
  const detail::Checks checks("topology", group_);
  const detail::CallGuard guard("topology");
  return detail::exchange_topology(*this, detail::local_facts());
}

}  // namespace ferrompi
