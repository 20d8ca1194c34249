#include <nlohmann/json.hpp>

#include "report.hpp"

namespace sddp {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string to_json(const Report& report) {
  const Iteration last = report.trace.empty() ? Iteration{} : report.trace.back();
  const Dimensions& d = report.dimensions;
  Json json{{"case",
             {{"name", report.name},
              {"stages", d.stages},
              {"hydros", d.hydros},
              {"thermals", d.thermals},
              {"order", d.order},
              {"scenarios", d.scenarios},
              {"openings", d.openings},
              {"seed", d.seed}}},
            {"status", to_string(report.status)},
            {"iterations", report.trace.size()},
            {"resumed_after", report.resumed},
            {"lower_bound", last.lower},
            {"upper_bound", last.upper},
            {"half_width", last.half_width},
            {"gap", last.gap()},
            {"backend", to_string(report.topology.backend)},
            {"ranks", report.topology.world_size},
            {"threads_per_rank", report.threads},
            {"imbalance", imbalance(report.times)},
            {"communication_share", communication_share(report)},
            {"exchanges", report.exchanges}};
  for (const auto& host : report.topology.hosts)
    json["hosts"].push_back({{"name", host.hostname}, {"ranks", host.ranks}});
  if (const auto& mpi = report.topology.mpi) {
    json["mpi"] = {{"library", mpi->library_version}, {"standard", mpi->standard_version}};
  }
  if (const auto& slurm = report.topology.slurm) json["slurm_job"] = slurm->job_id;
  json["trace"] = Json::array();
  for (const Iteration& i : report.trace) {
    json["trace"].push_back({{"lower", i.lower},
                             {"upper", i.upper},
                             {"half_width", i.half_width},
                             {"problems", i.problems},
                             {"pivots", i.pivots}});
  }
  const std::vector<double> shares = imbalances(report.times);
  for (std::size_t rank = 0; rank < report.times.size(); ++rank) {
    const TimeSplit& s = report.times[rank];
    json["times"].push_back({{"total", s.total},
                             {"solve", s.solve},
                             {"communicate", s.communicate},
                             {"wait", s.wait},
                             {"rest", s.rest()},
                             {"imbalance", shares[rank]}});
  }
  return json.dump(1) + "\n";
}

}  // namespace sddp
