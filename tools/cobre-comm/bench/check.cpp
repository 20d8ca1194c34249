#include "check.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "run/options.hpp"

namespace cobre::command::bench {
namespace {

// Absolute times move from machine to machine and from day to day; ratios of one run move less, but they do.
constexpr double tolerated = 0.15;

}  // namespace

Baseline::Baseline(const std::string& file) {
  std::ifstream text(file);
  if (!text) throw UsageError(comm::core::format("--check: {} cannot be read", comm::core::quoted(file)));
  try {
    const auto document = nlohmann::json::parse(text);
    for (const auto& record : document.at("records")) {
      if (record.at("ratio").is_null()) continue;
      ratios_[{record.at("op"), record.at("backend"), record.at("ranks"), record.at("bytes")}] = record.at("ratio");
    }
  } catch (const std::exception& error) {
    throw UsageError(comm::core::format("--check: {} holds no run: {}", comm::core::quoted(file), error.what()));
  }
}

Findings Baseline::compare(const std::vector<Record>& records) const {
  Findings findings;
  std::size_t compared = 0, worse = 0;
  for (const Record& record : records) {
    const auto before = ratios_.find({record.operation, record.contestant->name, record.ranks, record.bytes});
    if (before == ratios_.end() || !record.ratio) continue;
    ++compared;
    if (*record.ratio >= before->second * (1 - tolerated)) continue;
    ++worse;
    findings.text += comm::core::format(
        "worse: {} of {} bytes on {} with {} ranks has a ratio of {:.2f} to {}, was {:.2f}\n", record.operation,
        record.bytes, record.contestant->name, record.ranks, *record.ratio, record.best_peer, before->second);
  }
  findings.worse = worse > 0 || compared == 0;
  findings.text += comm::core::format("{} of {} cells became more than {:.0f} % worse{}\n", worse, compared,
                                      100 * tolerated, compared == 0 ? ": the stored run has none of them" : "");
  return findings;
}

}  // namespace cobre::command::bench
