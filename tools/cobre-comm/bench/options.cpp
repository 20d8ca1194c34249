#include "options.hpp"

#include <cobre/comm/factory.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "comm/topology/machine.hpp"
#include "contestants.hpp"
#include "lists.hpp"
#include "run/options.hpp"
#include "run/places.hpp"

namespace cobre::command::bench {
namespace {

using comm::core::format;
using comm::core::joined;
using Words = std::vector<std::string>;

// Without a word about it, the four that every backend and every peer has.
const Words usual{"barrier", "broadcast", "allreduce", "allgatherv"};
const Words operations{
    "barrier", "broadcast", "allreduce", "allgatherv", "regions",   "reduce", "gather", "gatherv",
    "scatter", "scatterv",  "allgather", "alltoall",   "alltoallv", "scan",   "exscan", "reduce_scatter_block",
    "message"};

// The solver that this library was written for, and examples/sddp with its exchanges by allgatherv and in regions.
const Words patterns{"sddp", "sddp-example", "sddp-example-regions"};

Words chosen(const std::string& list, const char* option, const char* kind, const Words& known) {
  Words words;
  for (const std::string& word : parts_of(list)) {
    if (std::ranges::find(known, word) == known.end()) {
      throw UsageError(
          format("{}: there is no {} {}; there are {}", option, kind, comm::core::quoted(word), joined(known, ", ")));
    }
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);  // said twice, measured once
  }
  return words;
}

// The parser of options takes what is no number for one inside of every range.
void require_number(const char* option, double value) {
  if (std::isnan(value)) throw UsageError(format("{}: nan is no number", option));
}

void require_compiled_in(const Words& backends) {
  for (const std::string& name : backends) {
    const Contestant& contestant = *find_contestant(name);
    const auto available = comm::available_backends();
    if (std::ranges::find(available, contestant.backend) == available.end()) {
      throw UsageError(
          format("--backends: this build has no backend {}, only {}", contestant.backend, joined(available, ", ")));
    }
  }
}

void read_operations(const Wishes& wishes, Options& options) {
  if (!options.pattern.empty()) {
    options.operations = chosen(options.pattern, "--pattern", "pattern", patterns);
    if (options.persistent || !wishes.operations.empty() || !wishes.sizes.empty()) {
      throw UsageError("--pattern has operations and sizes of its own: leave out --ops, --sizes and --persistent");
    }
    if (options.scale != 1 && options.operations != Words{"sddp"}) {
      throw UsageError("--scale: only sddp has a scale; the exchanges of the example are what they are");
    }
    return;
  }
  options.operations = wishes.operations.empty() ? usual : chosen(wishes.operations, "--ops", "operation", operations);
  if (!options.persistent) return;
  const Words with_plans{"broadcast", "allreduce", "allgatherv"};
  if (wishes.operations.empty()) options.operations = with_plans;
  for (std::string& operation : options.operations) {
    if (std::ranges::find(with_plans, operation) == with_plans.end()) {
      throw UsageError(format("--persistent: {} has no plan; {} have", operation, joined(with_plans, ", ")));
    }
    operation.insert(0, plan_prefix);
  }
}

}  // namespace

void read_wishes(const Wishes& wishes, Options& options) {
  options.pattern = wishes.pattern;
  options.scale = wishes.scale.value_or(options.scale);
  options.rounds = wishes.rounds.value_or(options.rounds);
  options.effort = wishes.effort.value_or(options.effort);
  require_number("--effort", options.effort);
  require_number("--scale", options.scale);
  read_operations(wishes, options);
  options.sizes = read_sizes(wishes.sizes);
  options.ranks = read_rank_counts(wishes.ranks);
  if (options.ranks.empty()) {
    const std::set<std::size_t> usual_counts{2, usable_cores(comm::topology::look_at_machine())};
    options.ranks.assign(usual_counts.begin(), usual_counts.end());
  }
  options.backends = wishes.backends.empty() ? backends_of_this_build()
                                             : chosen(wishes.backends, "--backends", "backend", contestants(true));
  require_compiled_in(options.backends);
  if (options.persistent && !wishes.peers.empty() && wishes.peers != "none") {
    throw UsageError("--persistent: plans stand beside plain calls of the same backend; leave out --peers");
  }
  options.peers = options.persistent || wishes.peers == "none" ? Words()
                  : wishes.peers.empty()                       ? contestants(false)
                                         : chosen(wishes.peers, "--peers", "peer", contestants(false));
}

std::vector<std::size_t> sizes_for(const Options& options, const std::string& operation) {
  if (operation == "barrier") return {0};
  if (!options.pattern.empty()) return {std::max<std::size_t>(1, static_cast<std::size_t>(options.scale * 1000 + 0.5))};
  if (!options.sizes.empty()) return options.sizes;
  // A state of the solver, or one number, and up to what no cache holds.
  const Words shared_out{"gather",    "gatherv",  "scatter",   "scatterv",
                         "allgather", "alltoall", "alltoallv", "reduce_scatter_block"};
  const bool in_parts =
      operation.ends_with("allgatherv") || std::ranges::find(shared_out, operation) != shared_out.end();
  return {in_parts ? 32U : 8U, 1024, 16'384, 262'144, 3'276'800, 33'554'432};
}

}  // namespace cobre::command::bench
