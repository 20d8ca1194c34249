#include "check.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "run/options.hpp"

namespace cobre::command::bench {
namespace {

using comm::core::format;

// Absolute times move from machine to machine and from day to day; ratios of one run move less, but they do.
constexpr double tolerated = 0.15;

std::tuple<std::string, std::string, std::size_t, std::size_t> cell_of(const Record& record) {
  return {record.operation, record.contestant->name, record.ranks, record.bytes};
}

}  // namespace

Baseline::Baseline(const std::string& file) {
  std::ifstream text(file);
  if (!text) throw UsageError(format("--check: {} cannot be read", comm::core::quoted(file)));
  try {
    const auto document = nlohmann::json::parse(text);
    for (const auto& record : document.at("records")) {
      if (record.at("ratio").is_null()) continue;
      cells_[{record.at("op"), record.at("backend"), record.at("ranks"), record.at("bytes")}] = {
          record.at("ratio"), record.at("best_peer")};
    }
  } catch (const std::exception& error) {
    throw UsageError(format("--check: {} holds no run: {}", comm::core::quoted(file), error.what()));
  }
}

// A line for each operation of a backend: a run of less than everything lacks many cells.
std::string Baseline::missing_in(const std::vector<Record>& records) const {
  std::set<Cell> present;
  for (const Record& record : records) {
    if (record.ratio) present.insert(cell_of(record));
  }
  std::map<std::tuple<std::string, std::string, std::size_t>, std::vector<std::string>> lacking;
  for (const auto& [cell, stored] : cells_) {
    const auto& [operation, backend, ranks, bytes] = cell;
    if (!present.contains(cell)) lacking[{operation, backend, ranks}].push_back(std::to_string(bytes));
  }
  std::string text;
  for (const auto& [what, sizes] : lacking) {
    const auto& [operation, backend, ranks] = what;
    text += format("not compared: {} on {} with {} ranks, which the stored run has: {} bytes\n", operation, backend,
                   ranks, comm::core::joined(sizes, ", "));
  }
  return text;
}

Findings Baseline::compare(const std::vector<Record>& records) const {
  Findings findings;
  std::size_t compared = 0, worse = 0;
  for (const Record& record : records) {
    const auto before = cells_.find(cell_of(record));
    if (before == cells_.end() || !record.ratio) continue;
    ++compared;
    const auto& [ratio, peer] = before->second;
    const bool is_worse = *record.ratio < ratio * (1 - tolerated);
    if (is_worse) ++worse;
    if (!is_worse && peer == record.best_peer) continue;
    findings.text +=
        format("{}: {} of {} bytes on {} with {} ranks has a ratio of {:.2f} to {}, was {:.2f}{}\n",
               is_worse ? "worse" : "another peer", record.operation, record.bytes, record.contestant->name,
               record.ranks, *record.ratio, record.best_peer, ratio, peer == record.best_peer ? "" : " to " + peer);
  }
  findings.text += missing_in(records);
  findings.worse = worse > 0 || compared == 0;
  findings.text += format("{} of {} cells became more than {:.0f} % worse{}\n", worse, compared, 100 * tolerated,
                          compared == 0 ? ": the stored run has none of them" : "");
  return findings;
}

}  // namespace cobre::command::bench
