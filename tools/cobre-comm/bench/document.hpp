// The results for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "contest.hpp"
#include "results.hpp"

namespace cobre::command::bench {

using Document = nlohmann::ordered_json;

/// The machine that this is. Looks around: before anything is measured.
[[nodiscard]] Document describe_machine();

/// With the wishes, so that somebody can measure the same again.
[[nodiscard]] Document as_document(const Document& machine, const Options& options, const Wishes& wishes,
                                   const Run& run, const std::vector<Record>& records);

/// A line for each record: what changed between two runs is seen.
[[nodiscard]] std::string as_text(const Document& document);

/// Throws std::system_error where it cannot.
void write_file(const std::string& name, const std::string& text);

}  // namespace cobre::command::bench
