#include "check.hpp"

#include <algorithm>
#include <cmath>
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

std::tuple<std::string, std::string, std::size_t, std::size_t> cell_in(const nlohmann::json& record, const char* who) {
  return {record.at("op"), record.at(who), record.at("ranks"), record.at("bytes")};
}

// Files of earlier versions do not say what was asked for.
Wishes wishes_of(const nlohmann::json& run) {
  const auto options = run.value("options", nlohmann::json::object());
  Wishes wishes;
  wishes.operations = options.value("ops", "");
  wishes.sizes = options.value("sizes", "");
  wishes.ranks = options.value("ranks", "");
  wishes.backends = options.value("backends", "");
  wishes.peers = options.value("peers", "");
  wishes.pattern = options.value("pattern", "");
  if (options.contains("scale")) wishes.scale = options.at("scale").get<double>();
  if (run.contains("rounds")) wishes.rounds = run.at("rounds").get<std::size_t>();
  if (run.contains("effort")) wishes.effort = run.at("effort").get<double>();
  return wishes;
}

template <class T>
void fill(T& wish, const T& stored) {
  if (wish == T()) wish = stored;
}

}  // namespace

Baseline::Baseline(const std::string& file) {
  std::ifstream text(file);
  if (!text) throw UsageError(format("--check: {} cannot be read", comm::core::quoted(file)));
  try {
    const auto document = nlohmann::json::parse(text);
    wishes_ = wishes_of(document.value("run", nlohmann::json::object()));
    for (const auto& absent : document.value("absent", nlohmann::json::array())) {
      absent_.emplace(absent.at("name"), absent.at("because"));
    }
    std::map<Cell, double> noises;
    for (const auto& record : document.at("records")) {
      const auto noise = record.find("noise");
      if (noise != record.end() && !noise->is_null()) noises[cell_in(record, "backend")] = *noise;
    }
    for (const auto& record : document.at("records")) {
      if (record.at("ratio").is_null()) continue;
      const Cell cell = cell_in(record, "backend");
      // Who has none was measured in one round.
      cells_[cell] = {record.at("ratio"), record.at("best_peer"),
                      std::hypot(noises[cell], noises[cell_in(record, "best_peer")])};
    }
  } catch (const std::exception& error) {
    throw UsageError(format("--check: {} holds no run: {}", comm::core::quoted(file), error.what()));
  }
}

void Baseline::complete(Wishes& wishes) const {
  if (wishes.pattern.empty()) {
    // A pattern has operations and sizes of its own.
    const bool asked = !wishes.operations.empty() || !wishes.sizes.empty();
    fill(wishes.operations, wishes_.operations);
    fill(wishes.sizes, wishes_.sizes);
    if (!asked) wishes.pattern = wishes_.pattern;
    if (!asked) fill(wishes.scale, wishes_.scale);
  }
  fill(wishes.ranks, wishes_.ranks);
  fill(wishes.backends, wishes_.backends);
  fill(wishes.peers, wishes_.peers);
  fill(wishes.rounds, wishes_.rounds);
  fill(wishes.effort, wishes_.effort);
}

bool Baseline::has(const Absence& absence) const {
  return absent_.contains({absence.name, absence.reason});
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
  std::size_t compared = 0, worse = 0, unsure = 0;
  for (const Record& record : records) {
    const auto before = cells_.find(cell_of(record));
    if (before == cells_.end() || !record.ratio) continue;
    ++compared;
    const auto& [ratio, peer, noise_before] = before->second;
    const bool looks_worse = *record.ratio < ratio * (1 - tolerated);
    // Nothing smaller than the noise can be said, and runs are as independent as contestants.
    const double noise = std::hypot(noise_before, record.summary.noise.value_or(0), record.peer_noise.value_or(0));
    const bool is_worse = looks_worse && *record.ratio < ratio * (1 - noise);
    if (is_worse) ++worse;
    if (looks_worse && !is_worse) ++unsure;
    if (!looks_worse && peer == record.best_peer) continue;
    findings.text += format("{}: {} of {} bytes on {} with {} ranks has a ratio of {:.2f} to {}, was {:.2f}{}\n",
                            is_worse      ? "worse"
                            : looks_worse ? "worse, but not by more than the noise"
                                          : "another peer",
                            record.operation, record.bytes, record.contestant->name, record.ranks, *record.ratio,
                            record.best_peer, ratio, peer == record.best_peer ? "" : " to " + peer);
  }
  findings.text += missing_in(records);
  findings.worse = worse > 0 || compared == 0;
  findings.text += format("{} of {} cells became more than {:.0f} % worse{}{}\n", worse, compared, 100 * tolerated,
                          unsure == 0 ? "" : format(", {} more by less than the noise of both runs", unsure),
                          compared == 0 ? ": the stored run has none of them" : "");
  return findings;
}

}  // namespace cobre::command::bench
