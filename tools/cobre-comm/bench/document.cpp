#include "document.hpp"

#include <cobre/comm/config.hpp>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <system_error>

#include "comm/core/format.hpp"
#include "info/facts.hpp"
#include "table.hpp"

namespace cobre::command::bench {
namespace {

template <class T>
Document known(const std::optional<T>& value) {
  return value ? Document(*value) : Document();
}

std::string processor() {
  std::ifstream text("/proc/cpuinfo");
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
  return text.data();
}

Document said(const Wishes& wishes) {
  Document options = Document::object();
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) options[name] = value;
  };
  add("ops", wishes.operations);
  add("sizes", wishes.sizes);
  add("ranks", wishes.ranks);
  add("backends", wishes.backends);
  add("peers", wishes.peers);
  add("pattern", wishes.pattern);
  if (wishes.scale) options["scale"] = *wishes.scale;
  return options;
}

Document record(const Record& record) {
  const Summary& summary = record.summary;
  Document entry{{"op", record.operation},
                 {"backend", record.contestant->name},
                 {"ranks", record.ranks},
                 {"bytes", record.bytes},
                 {"median_us", summary.median},
                 {"p99_us", summary.p99},
                 {"min_us", summary.min},
                 {"limit_us", known(record.limit)},
                 {"noise", known(summary.noise)},
                 {"setup_us", known(record.setup)},
                 {"kind", record.contestant->ours ? "ours" : "peer"},
                 {"thread_level", record.level.empty() ? Document() : Document(record.level)},
                 {"ratio", known(record.ratio)},
                 {"best_peer", record.best_peer.empty() ? Document() : Document(record.best_peer)},
                 {"bar", nullptr},
                 {"loses", loses(record)}};
  if (record.verdict) {
    entry["bar"] = {
        {"against", record.verdict->against}, {"ratio", record.verdict->ratio}, {"bar", record.verdict->bar}};
  }
  return entry;
}

}  // namespace

Document describe_machine() {
  const auto facts = collect_facts();
  Document machine{{"processor", processor()}};
  for (const auto& [name, value] : facts.at("host").items()) machine[name] = value;
  machine["usable_cores"] = facts.at("limits").at("usable_cores");
  machine["mpi"] = facts.at("mpi").is_object() ? facts.at("mpi").at("library") : facts.at("mpi");
  machine["single_copy"] = facts.at("single_copy");
  return machine;
}

Document as_document(const Document& machine, const Options& options, const Wishes& wishes, const Run& run,
                     const std::vector<Record>& records) {
  Document limits = Document::array();
  for (const auto& [what, time] : run.limits.all()) {
    limits.push_back({{"what", what.first}, {"bytes", what.second}, {"us", time}});
  }
  Document absent = Document::array();
  for (const Absence& absence : run.absences) {
    absent.push_back({{"name", absence.name}, {"because", absence.reason}, {"failed", absence.failed}});
  }
  Document entries = Document::array();
  for (const Record& one : records) entries.push_back(record(one));
  return {{"machine", machine},
          {"run",
           {{"version", COBRE_COMM_VERSION},
            {"date", today()},
            {"rounds", options.rounds},
            {"effort", options.effort},
            {"complete", !run.interrupted},
            {"options", said(wishes)}}},
          {"absent", absent},
          {"limits", limits},
          {"records", entries}};
}

std::string as_text(const Document& document) {
  std::string text = "{";
  for (const auto& [name, value] : document.items()) {
    text += comm::core::format("{}\n\"{}\": ", text.size() > 1 ? "," : "", name);
    if (!value.is_array() || value.empty()) {
      text += value.dump();
      continue;
    }
    text += "[";
    for (const auto& entry : value) text += comm::core::format("{}\n {}", text.back() == '[' ? "" : ",", entry.dump());
    text += "\n]";
  }
  return text + "\n}\n";
}

void write_file(const std::string& name, const std::string& text) {
  std::ofstream file(name);
  file << text;
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), name);
}

}  // namespace cobre::command::bench
