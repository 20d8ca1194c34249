#include "contest.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "comm/topology/machine.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "run/options.hpp"
#include "run/places.hpp"

namespace cobre::command::bench {
namespace {

using comm::core::format;

/// One program, measured in every round.
struct Turn {
  std::size_t ranks;
  std::string operation;
  const Contestant* contestant;
  std::string level;
  bool dropped = false;
};

std::string joined(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> words;
  words.reserve(numbers.size());
  for (const std::size_t number : numbers) words.push_back(std::to_string(number));
  return comm::core::joined(words, ",");
}

class Contest {
 public:
  explicit Contest(const Options& options) : options_(options), folder_(program_folder()) {
    run_.cores = usable_cores(comm::topology::look_at_machine());
    for (const auto* const names : {&options.backends, &options.peers}) {
      for (const std::string& name : *names) {
        const Contestant& contestant = *find_contestant(name);
        if (const auto reason = reason_for_absence(contestant, folder_, options.pattern)) {
          run_.absences.push_back({name, *reason});
        } else {
          present_.push_back(&contestant);
          for (const std::string& operation : options.operations) {
            if (has(contestant, operation)) continue;
            run_.absences.push_back(
                {name, format("not measured in {}: that is for ours and for plain MPI", operation)});
          }
        }
      }
    }
  }

  Run hold() {
    const std::size_t before = options_.pattern.empty() ? 1 : 0;  // a pattern has no limit that could be said
    std::size_t programs = before;
    for (const std::size_t ranks : rank_counts()) {
      for (const std::string& operation : options_.operations) {
        programs += turns(ranks, operation).size() * options_.rounds;
      }
    }
    if (programs == before) throw UsageError("there is nothing to measure: " + reasons());
    Progress progress(programs);
    if (before > 0) measure_limits(progress);
    for (const std::size_t ranks : rank_counts()) {
      for (const std::string& operation : options_.operations) {
        auto all = turns(ranks, operation);
        for (std::size_t round = 0; round < options_.rounds; ++round) {
          for (Turn& turn : all) take(turn, round, progress);
        }
        if (stage_.interrupted()) {
          run_.interrupted = true;
          return std::move(run_);
        }
        progress.milestone(format("{} ranks, {}", ranks, operation));
      }
    }
    return std::move(run_);
  }

 private:
  // One process is what the local backend is, whatever else was asked for.
  [[nodiscard]] std::vector<std::size_t> rank_counts() const {
    std::set<std::size_t> counts(options_.ranks.begin(), options_.ranks.end());
    for (const Contestant* const one : present_) {
      if (one->backend == "local") counts.insert(1);
    }
    return {counts.begin(), counts.end()};
  }

  [[nodiscard]] std::vector<Turn> turns(std::size_t ranks, const std::string& operation) const {
    const bool asked = std::ranges::find(options_.ranks, ranks) != options_.ranks.end();
    std::vector<Turn> all;
    for (const Contestant* const one : present_) {
      if (one->ours && (one->backend == "local" ? ranks != 1 : !asked)) continue;
      if (!has(*one, operation)) continue;
      if (ranks == 1 && ((!one->ours && one->over_sockets) || operation == "message")) continue;  // nobody to talk to
      for (const std::string& level : one->levels) all.push_back({ranks, operation, one, level});
    }
    return all;
  }

  [[nodiscard]] std::string reasons() const {
    std::vector<std::string> words;
    words.reserve(run_.absences.size());
    for (const Absence& absence : run_.absences) words.push_back(absence.name + " is " + absence.reason);
    return words.empty() ? "neither a backend nor a peer was asked for" : comm::core::joined(words, "; ");
  }

  void measure_limits(Progress& progress) {
    std::set<std::size_t> sizes;
    for (const std::size_t ranks : rank_counts()) {
      for (const std::string& operation : options_.operations) {
        for (const std::size_t bytes : sizes_for(options_, operation)) {
          for (const std::size_t one : Limits::sizes(bytes, ranks)) sizes.insert(one);
        }
      }
    }
    progress.begin("limits", "what the hardware can do");
    const auto outcome = stage_.run({{folder_ + "/cobre-bench-limits", joined({sizes.begin(), sizes.end()})}, {}});
    progress.end();
    run_.limits = Limits(outcome.output);
    if (!outcome.problem.empty()) run_.absences.push_back({"limits", outcome.problem, !stage_.interrupted()});
  }

  void take(Turn& turn, std::size_t round, Progress& progress) {
    if (stage_.interrupted()) return;
    const std::string name = turn.level.empty() ? turn.contestant->name : turn.contestant->name + ", " + turn.level;
    progress.begin(
        format("{} {} {}", turn.ranks, turn.operation, name),
        format("{} ranks, {}, round {} of {}: {}", turn.ranks, turn.operation, round + 1, options_.rounds, name));
    if (!turn.dropped) run(turn, name);
    progress.end();
  }

  void run(Turn& turn, const std::string& name) {
    const bool crowded = turn.ranks > run_.cores;
    Trial trial{start_command(*turn.contestant, turn.level, turn.ranks, !crowded, folder_),
                turn.contestant->environment};
    // Ranks that share a core leave a barrier far apart: only a long batch makes that small.
    const double batch = (crowded ? 4000.0 : 1000.0) * options_.effort;
    trial.command.insert(trial.command.end(), {format("{}", batch), format("{}", 60'000.0 * options_.effort),
                                               turn.operation, joined(sizes_for(options_, turn.operation))});
    const auto outcome = stage_.run(trial);
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) read(line, turn);
    if (outcome.problem.empty() || stage_.interrupted()) return;
    turn.dropped = true;  // it would happen again
    run_.absences.push_back(
        {name, format("{} in {} with {} ranks", outcome.problem, turn.operation, turn.ranks), true});
  }

  [[nodiscard]] bool is_of(const Turn& turn, const std::string& reported) const {
    if (!options_.persistent) return reported == turn.operation;
    const std::string operation = turn.operation.substr(plan_prefix.size());
    return reported == operation || reported == operation + std::string(plan_suffix) ||
           reported == operation + std::string(setup_suffix);
  }

  void read(const std::string& line, const Turn& turn) {
    auto report = read_report(line);
    if (!report || !is_of(turn, report->operation)) return;
    run_.results.add(report->operation, report->bytes, turn.ranks, *turn.contestant, turn.level,
                     std::move(report->times));
  }

  const Options& options_;
  std::string folder_;
  std::vector<const Contestant*> present_;
  Stage stage_;
  Run run_;
};

}  // namespace

Run hold_contest(const Options& options) {
  return Contest(options).hold();
}

}  // namespace cobre::command::bench
