#include "bars.hpp"

#include <cobre/comm/base/number.hpp>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "run/options.hpp"

namespace cobre::command::bench {
namespace {

// A word that no cell has would be a bar that nobody ever has to clear.
std::optional<std::size_t> size_of(const std::string& bytes) {
  if (bytes == "any") return std::nullopt;
  const auto value = comm::detail::parse_number<std::size_t>(bytes);
  if (!value) {
    throw UsageError(
        comm::core::format("{} is no number of bytes; write digits alone, or any", comm::core::quoted(bytes)));
  }
  return value;
}

}  // namespace

Bars::Bars(const std::string& file) {
  std::ifstream text(file);
  if (!text) throw UsageError(comm::core::format("--bars: {} cannot be read", comm::core::quoted(file)));
  try {
    const auto document = nlohmann::json::parse(text);
    for (const auto& entry : document.at("bars")) {
      for (const auto& [bytes, ratio] : entry.at("ratios").items()) {
        bars_.push_back({entry.at("backend"), entry.at("op"), size_of(bytes), entry.value("crowded", false),
                         entry.at("against"), ratio});
      }
    }
  } catch (const std::exception& error) {
    throw UsageError(comm::core::format("--bars: {} holds no bars: {}", comm::core::quoted(file), error.what()));
  }
}

std::optional<Verdict> Bars::judge(const Place& place, const std::map<std::string, double>& ratios) const {
  std::optional<Verdict> hardest;
  for (const Bar& bar : bars_) {
    if (bar.backend != place.backend || bar.operation != place.operation || bar.crowded != place.crowded ||
        bar.bytes.value_or(place.bytes) != place.bytes) {
      continue;
    }
    for (const std::string& peer : bar.against) {
      const auto found = ratios.find(peer);
      if (found == ratios.end()) continue;
      if (!hardest || found->second / bar.ratio < hardest->ratio / hardest->bar) {
        hardest = Verdict{peer, found->second, bar.ratio};
      }
    }
  }
  return hardest;
}

}  // namespace cobre::command::bench
