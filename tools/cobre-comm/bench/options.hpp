// What `cobre-comm bench` was asked for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cobre::command::bench {

struct Options {
  std::vector<std::string> operations;
  std::vector<std::size_t> sizes;  // bytes
  std::vector<std::size_t> ranks;
  std::vector<std::string> backends;
  std::vector<std::string> peers;
  std::size_t rounds = 5;
  double effort = 1;
  std::string json;  // files to write, where they have names
  std::string html;
  std::string bars;  // files to compare with
  std::string check;
};

/// The text of the options as the user wrote it; an empty one stands for the default.
struct Wishes {
  std::string operations, sizes, ranks, backends, peers;
};

/// Reads the lists. Throws UsageError that names the word that is wrong, and what there is instead.
void read_wishes(const Wishes& wishes, Options& options);

/// The bytes that an operation is measured with: a barrier has none.
[[nodiscard]] std::vector<std::size_t> sizes_for(const Options& options, const std::string& operation);

}  // namespace cobre::command::bench
