#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "report.hpp"

namespace sddp {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  const int length = std::snprintf(nullptr, 0, pattern, values...);
  std::string text(static_cast<std::size_t>(length), '\0');
  std::snprintf(text.data(), text.size() + 1, pattern, values...);
  return text;
}

std::string plural(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// 0, 1, 2, 5 as "0-2, 5".
std::string ranges(const std::vector<std::size_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(ranks[i]);
    if (last > i) text.append("-").append(std::to_string(ranks[last]));
    i = last + 1;
  }
  return text;
}

}  // namespace

std::string describe_run(const Report& report) {
  const auto& topology = report.topology;
  std::string text = "Execution\n";
  text += std::string("  backend   ") + to_string(topology.backend);
  if (topology.mpi) text += " (" + topology.mpi->library_version + ", " + topology.mpi->standard_version + ")";
  text += "\n  layout    " + plural(topology.world_size, "rank") + " on " +
          (topology.num_hosts() == 1 ? topology.leader_hostname() : plural(topology.num_hosts(), "host")) + "\n";
  if (topology.num_hosts() > 1) {
    for (const auto& host : topology.hosts)
      text += "            " + host.hostname + ": ranks " + ranges(host.ranks) + "\n";
  }
  text += "  threads   " + std::to_string(report.threads) + " a rank\n";
  if (topology.slurm) {
    text += "  Slurm     job " + topology.slurm->job_id;
    if (topology.slurm->node_list) text += ", nodes " + *topology.slurm->node_list;
    if (topology.slurm->cpus_per_task) text += ", " + plural(*topology.slurm->cpus_per_task, "CPU") + " a task";
    text += "\n";
  }
  const Dimensions& d = report.dimensions;
  text += "\nCase " + report.name + "\n  " + plural(d.stages, "stage") + ", " + plural(d.hydros, "hydro plant") + ", " +
          plural(d.thermals, "thermal plant") + ", inflows of order " + std::to_string(d.order) + "\n  " +
          plural(d.scenarios, "scenario") + " an iteration, " + plural(d.openings, "opening") + " a stage, seed " +
          std::to_string(d.seed) + "\n";
  if (report.resumed > 0) text += "  goes on after iteration " + std::to_string(report.resumed) + "\n";
  return text;
}

std::string describe(std::size_t number, const Iteration& iteration) {
  return format("%9zu %16.4f %16.4f %12.4f %8.3f %%", number, iteration.lower, iteration.upper, iteration.half_width,
                100.0 * iteration.gap());
}

bool on_terminal() {
  winsize size{};
  return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
}

void Progress::show(const std::vector<Iteration>& trace, Status status) const {
  const Iteration& now = trace.back();
  if (terminal_) {
    constexpr std::size_t width = 30;
    const std::size_t done = status == Status::Running ? width * trace.size() / iterations_ : width;
    const std::string bar = std::string(done, '#') + std::string(width - done, '.');
    std::printf("\r[%s] %zu/%zu  lower %.2f  upper %.2f  gap %.2f %% \033[K", bar.c_str(), trace.size(), iterations_,
                now.lower, now.upper, 100.0 * now.gap());
    if (status != Status::Running) std::printf("\n");
  } else {
    std::printf("iteration %zu/%zu: lower %.6f, upper %.6f +- %.6f, gap %.3f %%\n", trace.size(), iterations_,
                now.lower, now.upper, now.half_width, 100.0 * now.gap());
  }
  std::fflush(stdout);
}

double communication_share(const Report& report) {
  double communicate = 0.0, total = 0.0;
  for (const TimeSplit& split : report.times) {
    communicate += split.communicate;
    total += split.total;
  }
  return total > 0.0 ? communicate / total : 0.0;
}

std::string describe_result(const Report& report) {
  const auto& trace = report.trace;
  std::string text = "\nConvergence\niteration      lower bound      upper bound       +- 95 %       gap\n";
  // Some twenty lines tell enough; the first and the last always do.
  const std::size_t step = std::max<std::size_t>(1, trace.size() / 20);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (i % step == 0 || i + 1 == trace.size()) text += describe(i + 1, trace[i]) + "\n";
  }
  std::uint64_t problems = 0;
  for (const Iteration& iteration : trace) problems += iteration.problems;
  text += std::string("ended: ") + to_string(report.status) + " after " + plural(trace.size(), "iteration") + ", " +
          plural(problems, "stage problem") +
          "\n\nTime\n     rank    total    solve  communicate     wait     rest  imbalance\n";
  const std::vector<double> shares = imbalances(report.times);
  for (std::size_t rank = 0; rank < report.times.size(); ++rank) {
    const TimeSplit& s = report.times[rank];
    text += format("%9zu %7.3fs %7.3fs %11.6fs %7.3fs %7.3fs %10.3f\n", rank, s.total, s.solve, s.communicate, s.wait,
                   s.rest(), shares[rank]);
  }
  text += format("imbalance of solving %.3f, communication %.3f %% of the time, %zu exchanges, %.1f kB from rank 0\n",
                 imbalance(report.times), 100.0 * communication_share(report), report.exchanges,
                 static_cast<double>(report.bytes) / 1e3);
  return text;
}

}  // namespace sddp
