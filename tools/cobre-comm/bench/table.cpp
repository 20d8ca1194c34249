#include "table.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "comm/core/format.hpp"

namespace cobre::command::bench {
namespace {

using comm::core::format;

std::string percent(std::optional<double> share) {
  return share ? format("{:.0f}%", 100 * *share) : "-";
}

std::string ratio(std::optional<double> value) {
  return value ? *value < 100 ? format("{:.2f}", *value) : format("{:.0f}", *value) : "";
}

// Of the column with the names of operations, of which some are long.
std::size_t width_of_names(const std::vector<Record>& records) {
  std::size_t longest = 10;
  for (const Record& record : records) longest = std::max(longest, record.operation.size());
  return longest + 1;
}

std::string row(const Record& record, bool first, std::size_t names) {
  const std::string name =
      record.level.empty() ? record.contestant->name : format("{} ({})", record.contestant->name, record.level);
  const auto& [median, p99, min, noise] = record.summary;
  const auto fraction = record.limit && median > 0 ? std::optional(*record.limit / median) : std::nullopt;
  std::string line = format("{:<{}}{:>10}  {:<23}{:>10}{:>10}{:>10}{:>7}{:>7}", first ? record.operation : "", names,
                            first ? std::to_string(record.bytes) : "", name, microseconds(median), microseconds(p99),
                            microseconds(min), percent(noise), percent(fraction));
  if (record.contestant->ours) {
    line += format("{:>8}  {:<12}", ratio(record.ratio), record.best_peer);
    if (record.verdict) line += format("{:>6} of {:<5}", ratio(record.verdict->ratio), ratio(record.verdict->bar));
    if (loses(record)) line += below_its_bar(record) ? " <- below its bar" : " <- slower";
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string head(std::size_t ranks, std::size_t cores, std::size_t names) {
  return format("\n{} {} on {} {}, microseconds of the slowest rank\n", ranks, ranks == 1 ? "rank" : "ranks", cores,
                cores == 1 ? "core" : "cores") +
         format("{:<{}}{:>10}  {:<23}{:>10}{:>10}{:>10}{:>7}{:>7}{:>8}  {:<12}{:>6}\n", "operation", names, "bytes",
                "who", "median", "p99", "min", "noise", "limit", "ratio", "to", "bar");
}

// What the limits are made of: how soon, and, for the largest messages, how much.
std::string hardware(const Limits& limits) {
  std::string soon, much;
  std::map<std::string, std::pair<std::size_t, double>> largest;
  for (const auto& [what, time] : limits.all()) {
    if (what.second <= sizeof(double) && (what.second == 0 || what.first == "loopback")) {
      soon += format("{}{} {}", soon.empty() ? "" : ", ", what.first, microseconds(time));
    } else if (what.second >= largest[what.first].first) {
      largest[what.first] = {what.second, time};
    }
  }
  for (const auto& [what, measured] : largest) {
    much += format("{}{} {:.1f}", much.empty() ? "" : ", ", what,
                   static_cast<double>(measured.first) / measured.second / 1e3);
  }
  return soon.empty() ? "" : format("\nThe hardware: {} microseconds; {} GB/s\n", soon, much);
}

}  // namespace

std::string microseconds(double time) {
  return time < 10 ? format("{:.3f}", time) : time < 1000 ? format("{:.1f}", time) : format("{:.0f}", time);
}

std::string notes(const Run& run) {
  std::string text;
  for (const Absence& absence : run.absences) text += format("{}: {}\n", absence.name, absence.reason);
  if (run.interrupted) text += "interrupted: this is what was measured until then\n";
  return text;
}

bool below_its_bar(const Record& record) {
  return record.verdict && record.verdict->ratio < record.verdict->bar;
}

bool loses(const Record& record) {
  if (below_its_bar(record)) return true;
  // A bar against a peer says how much is enough; one against another of ours says nothing about peers.
  if (record.verdict && !find_contestant(record.verdict->against)->ours) return false;
  constexpr double least = 0.02;  // rounds may agree by chance
  const double noise = record.summary.noise.value_or(0) + record.peer_noise.value_or(0);
  return record.ratio && *record.ratio < 1 - std::max(noise, least);
}

std::string as_table(const Run& run, const std::vector<Record>& records) {
  const std::size_t names = width_of_names(records);
  std::string text;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    const Record* const before = i > 0 ? &records[i - 1] : nullptr;
    const bool new_table = before == nullptr || before->ranks != record.ranks;
    if (new_table) text += head(record.ranks, run.cores, names);
    text += row(record, new_table || before->operation != record.operation || before->bytes != record.bytes, names);
  }
  text += hardware(run.limits);
  const auto rated = std::ranges::count_if(records, [](const Record& r) { return r.ratio || r.verdict; });
  if (rated > 0) {
    text += format("\n{} of {} cells of ours are marked\n", std::ranges::count_if(records, loses), rated);
  }
  return text + notes(run);
}

}  // namespace cobre::command::bench
