// The program around training: rank 0 reads and tells, all ranks compute. No backend is named here either.
#pragma once

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "checkpoint.hpp"
#include "options.hpp"
#include "report.hpp"
#include "resources.hpp"
#include "stop_signal.hpp"
#include "train.hpp"

namespace sddp {

/// What rank 0 made of its command line, as all ranks hear it.
struct Plan {
  std::int32_t exit_code = -1;  // not negative: there is nothing to train, end with this
  Dimensions dimensions;
  Settings settings;
  std::uint64_t resumed = 0;  // iterations out of a checkpoint
};

/// What only rank 0 has.
struct Desk {
  Options options;
  std::optional<Case> data;
  Checkpoint checkpoint;
  std::uint64_t fingerprint = 0;
};

/// Reads everything that can be wrong, and says so in one line.
Plan prepare(std::span<const char* const> arguments, Desk& desk);

void write_text(const std::filesystem::path& file, const std::string& text);

/// Collective. The numbers of the case, from rank 0 into the memory of each node.
template <class C>
void share_case(const C& comm, const std::optional<Case>& data, SharedArray<C>& numbers) {
  std::vector<double> all = data ? data->numbers : std::vector<double>(numbers.read().size());
  comm.broadcast(all, 0);
  if (const auto mine = numbers.write(); !mine.empty()) std::ranges::copy(all, mine.begin());
  numbers.fence();
}

/// Collective. The iterations of a checkpoint, from rank 0 into the pool of each node; stage by stage, so that no rank
/// needs room for all of it.
template <class C>
std::vector<Iteration> share_checkpoint(const C& comm, const Dimensions& d, Checkpoint& checkpoint,
                                        std::size_t iterations, CutPool<C>& pool) {
  const std::size_t slots = iterations * d.scenarios;
  checkpoint.trace.resize(iterations);
  comm.broadcast(checkpoint.trace, 0);
  const auto share = [&](const std::vector<double>& all, std::size_t stage, std::size_t length) {
    std::vector<double> part(length);
    if (comm.rank() == 0) std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(stage * length), length, part.begin());
    comm.broadcast(part, 0);
    return part;
  };
  for (std::size_t stage = 0; iterations > 0 && stage + 1 < d.stages; ++stage) {
    const auto cuts = share(checkpoint.cuts, stage, slots * Cut::width(d));
    pool.write(stage, 0, cuts, share(checkpoint.states, stage, slots * d.state()));
  }
  pool.settle();
  return checkpoint.trace;
}

/// The pool as a checkpoint keeps it.
template <class C>
Checkpoint take_checkpoint(const Dimensions& d, const CutPool<C>& pool, const std::vector<Iteration>& trace) {
  Checkpoint checkpoint;
  checkpoint.trace = trace;
  const auto append = [](std::vector<double>& all, std::span<const double> part) {
    all.insert(all.end(), part.begin(), part.end());
  };
  for (std::size_t stage = 0; stage + 1 < d.stages; ++stage) {
    append(checkpoint.cuts, pool.cuts(stage, trace.size() * d.scenarios));
    append(checkpoint.states, pool.states(stage, trace.size() * d.scenarios));
  }
  return checkpoint;
}

template <class C>
cobre::comm::ExecutionTopology topology_of(const C& comm) {
  if constexpr (cobre::comm::TopologyProvider<C>) return comm.topology();
  cobre::comm::ExecutionTopology unknown;
  unknown.world_size = comm.size();
  return unknown;
}

template <cobre::comm::Communicator C>
int application(const C& comm, std::span<const char* const> arguments) {
  Desk desk;
  Plan plan;
  const bool tells = comm.rank() == 0;
  if (tells) plan = prepare(arguments, desk);
  plan = comm.broadcast(plan, 0);
  if (plan.exit_code >= 0) return plan.exit_code;
  plan.settings.threads = threads_of_rank(plan.settings.threads);
  const StopSignal signal;

  const Dimensions& d = plan.dimensions;
  SharedArray<C> numbers(comm, System::count(d)), shocks(comm, ScenarioTree::count(d));
  share_case(comm, desk.data, numbers);
  const System system(d, numbers.read());
  if (const auto mine = shocks.write(); !mine.empty()) fill_tree(system, mine);
  shocks.fence();
  CutPool<C> pool(comm, d);
  std::vector<Iteration> trace = share_checkpoint(comm, d, desk.checkpoint, plan.resumed, pool);

  Report report;
  report.name = desk.data ? desk.data->name : "";
  report.dimensions = d;
  report.topology = topology_of(comm);
  report.threads = plan.settings.threads;
  report.resumed = plan.resumed;
  const Progress progress(d.iterations, on_terminal());
  if (tells) std::printf("%s\n", describe_run(report).c_str());
  const auto after_iteration = [&](const std::vector<Iteration>& all, Status status) {
    if (!tells) return;
    progress.show(all, status);
    const bool due = status != Status::Running || all.size() % desk.options.every == 0;
    if (due && !desk.options.checkpoint.empty()) {
      write_checkpoint(desk.options.checkpoint, desk.fingerprint, take_checkpoint(d, pool, all));
    }
  };
  Recorder recorder;
  report.status = train(comm, system, {d, shocks.read()}, pool, plan.settings,
                        {[&] { return signal.has_arrived(); }, after_iteration}, trace, recorder);
  report.times = split_times(comm, recorder);
  if (!tells) return 0;
  report.trace = std::move(trace);
  report.bytes = recorder.bytes();
  report.exchanges = recorder.exchanges().size();
  std::printf("%s", describe_result(report).c_str());
  if (!desk.options.json.empty()) write_text(desk.options.json, to_json(report));
  if (!desk.options.html.empty()) write_text(desk.options.html, to_html(report));
  return 0;
}

}  // namespace sddp
