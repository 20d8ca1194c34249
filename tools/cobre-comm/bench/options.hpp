// What `cobre-comm bench` was asked for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cobre::command::bench {

struct Options {
  std::vector<std::string> operations;
  std::vector<std::size_t> sizes;  // bytes
  std::vector<std::size_t> ranks;
  std::vector<std::string> backends;
  std::vector<std::string> peers;
  bool persistent = false;  // plans beside plain calls
  std::string pattern;      // the exchanges of a program, instead of single operations
  double scale = 1;         // of the pattern
  std::size_t rounds = 5;
  double effort = 1;
  std::string json;  // files to write, where they have names
  std::string html;
  std::string bars;  // files to compare with
  std::string check;
};

/// The options as the user wrote them; what is empty stands for the default.
struct Wishes {
  std::string operations, sizes, ranks, backends, peers, pattern;
  std::optional<double> scale, effort;
  std::optional<std::size_t> rounds;
};

/// Reads the lists. Throws UsageError that names the word that is wrong, and what there is instead.
void read_wishes(const Wishes& wishes, Options& options);

/// How an operation is called where plans are measured: what the programs know, and what they report.
inline constexpr std::string_view plan_prefix = "persistent-";
inline constexpr std::string_view plan_suffix = "_init";
inline constexpr std::string_view setup_suffix = "_setup";

/// The bytes that an operation is measured with: a barrier has none. Of a pattern, thousandths of its full size.
[[nodiscard]] std::vector<std::size_t> sizes_for(const Options& options, const std::string& operation);

}  // namespace cobre::command::bench
