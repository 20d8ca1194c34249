#include "command.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include "check.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "contest.hpp"
#include "document.hpp"
#include "options.hpp"
#include "page.hpp"
#include "plan_table.hpp"
#include "run/options.hpp"
#include "table.hpp"

namespace cobre::command {
namespace bench {
namespace {

constexpr const char* examples = R"(
Examples:
  cobre-comm bench                                       everything that is here, two ranks and one for each core
  cobre-comm bench --ops allreduce --sizes 8,1K,4M       one operation
  cobre-comm bench --backends shm --peers openmpi,mpich --ranks 2,4
  cobre-comm bench --persistent                          plans beside plain calls
  cobre-comm bench --pattern sddp --scale 0.1            the exchanges of the solver
  cobre-comm bench --json run.json --html run.html       for programs, and with pictures

Sizes are bytes of all ranks together where they have parts (gather, scatter, allgather, alltoall, and
these with a v) and of what each rank gives elsewhere; K, M and G multiply. Everyone is measured
in turns, --rounds times, with rotated buffers whose data is checked; MPI peers at both thread levels, of which the faster
counts. median, p99 and min are those of batches, as the slowest rank saw them; noise is how far the rounds were apart; limit is
the share of what the hardware could do; ratio is the best peer's median over ours. tcp-sockets is tcp without the shared
memory that it uses inside of a machine. Ctrl-C prints what was measured so far. Exit code: 0; 1 where a
program failed or --check found something; 2 where nothing was started; 130 after Ctrl-C.)";

constexpr int interrupted_by_user = 128 + SIGINT;

// Before the hours in which it would be measured.
void require_writable(const std::string& file, const char* option) {
  if (file.empty()) return;
  if (!std::ofstream(file, std::ios::app)) {
    throw UsageError(comm::core::format("{}: {} cannot be written", option, comm::core::quoted(file)));
  }
}

int bench(Options options, Wishes wishes) {
  const auto baseline = options.check.empty() ? std::nullopt : std::optional<Baseline>(options.check);
  if (baseline && !options.persistent) baseline->complete(wishes);
  read_wishes(wishes, options);
  const Bars bars = options.bars.empty() ? Bars() : Bars(options.bars);
  require_writable(options.json, "--json");
  require_writable(options.html, "--html");
  const Document machine = describe_machine();
  const Run run = hold_contest(options);
  const auto records = run.results.records(run.limits, run.cores, bars);
  (void)std::fputs((options.persistent ? as_table_of_plans(run, records) : as_table(run, records)).c_str(), stdout);
  (void)std::fflush(stdout);
  const Document document = as_document(machine, options, wishes, run, records);
  if (!options.json.empty()) write_file(options.json, as_text(document));
  if (!options.html.empty()) write_file(options.html, as_page(document));
  if (run.interrupted) return interrupted_by_user;
  bool failed = std::ranges::any_of(
      run.absences, [&](const Absence& absence) { return absence.failed && !(baseline && baseline->has(absence)); });
  if (baseline) {
    const auto findings = baseline->compare(records);
    (void)std::fputs(findings.text.c_str(), stdout);
    failed = failed || findings.worse;
  }
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace bench

void add_bench(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<bench::Options>();
  auto wishes = std::make_shared<bench::Wishes>();
  CLI::App* const command = app.add_subcommand("bench", "Measure every backend beside its peers, in one run");
  command->footer(bench::examples);
  const auto list = [&](const char* name, std::string& value, const char* text) {
    command->add_option(name, value, text)->type_name("LIST");
  };
  list("--ops", wishes->operations,
       "barrier, broadcast, allreduce, allgatherv; if asked for, regions (allreduce in shared regions), reduce, "
       "gather, scatter, alltoall, these with a v, allgather, scan, exscan, reduce_scatter_block, message (one way "
       "between two ranks)");
  list("--sizes", wishes->sizes, "Bytes: 8,1K,4M; without it from 8 bytes to 32 MB");
  list("--ranks", wishes->ranks, "Numbers of ranks; without it two, and one for each core");
  list("--backends", wishes->backends, "Of ours: shm, tcp, tcp-sockets, mpi, local (one rank); all that are here");
  list("--peers", wishes->peers, "openmpi, mpich, openmpi-tcp, gloo, boost-mpi; all that are here, or none");
  command->add_flag("--persistent", options->persistent,
                    "Plans that are set up once beside plain calls, on every backend");
  command
      ->add_option("--pattern", wishes->pattern,
                   "sddp: the exchanges of one iteration of the solver, against plain MPI; sddp-example and "
                   "sddp-example-regions: those of the reference application")
      ->type_name("LIST");
  command->add_option("--scale", wishes->scale, "Of the pattern: 1 is the production case")
      ->check(CLI::Range(0.001, 100.0).description(""))
      ->type_name("FACTOR");
  command->add_option("--rounds", wishes->rounds, "How often everyone is measured; 5")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("COUNT");
  command->add_option("--effort", wishes->effort, "How long a point is measured: 1 is 60 ms a round")
      ->check(CLI::Range(0.001, 1000.0).description(""))
      ->type_name("FACTOR");
  command->add_option("--bars", options->bars, "Compare with promised ratios, and mark what is below")
      ->type_name("FILE");
  command
      ->add_option("--check", options->check,
                   "Measure what a stored run has, where nothing else is said, and compare: exit code 1 where a ratio "
                   "became 15 % worse")
      ->type_name("FILE");
  command->add_option("--json", options->json, "Write the results for programs")->type_name("FILE");
  command->add_option("--html", options->html, "Write a page with pictures, for a browser")->type_name("FILE");
  command->callback([options, wishes, &exit_code] { exit_code = bench::bench(*options, *wishes); });
}

}  // namespace cobre::command
