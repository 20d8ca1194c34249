#include "lists.hpp"

#include <cobre/comm/base/number.hpp>

#include <set>
#include <sstream>
#include <string_view>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "run/options.hpp"

namespace cobre::command::bench {
namespace {

using comm::core::format;

constexpr std::size_t longest_buffer = std::size_t{2} << 30;  // peers count in int, and buffers are rotated
constexpr std::size_t most_ranks = 128;

std::size_t bytes(const std::string& word) {
  std::string_view digits = word;
  std::size_t unit = 1;
  constexpr std::string_view units = "KMG";
  if (const auto at = digits.empty() ? units.npos : units.find(digits.back()); at != units.npos) {
    unit = std::size_t{1} << (10 * (at + 1));
    digits.remove_suffix(1);
  }
  const auto value = comm::detail::parse_number<std::size_t>(digits);
  if (!value || *value > longest_buffer / unit) {
    throw UsageError(format("--sizes: {} is no size; write bytes up to 2G, as in 8,1K,4M", comm::core::quoted(word)));
  }
  if (*value == 0 || *value * unit % sizeof(double) != 0) {
    throw UsageError(
        format("--sizes: {} is no size of some doubles; take a multiple of 8 bytes", comm::core::quoted(word)));
  }
  return *value * unit;
}

std::size_t rank_count(const std::string& word) {
  const auto value = comm::detail::parse_number<std::size_t>(word);
  if (!value || *value == 0 || *value > most_ranks) {
    throw UsageError(format("--ranks: {} is no number of ranks; take 1 to {}", comm::core::quoted(word), most_ranks));
  }
  return *value;
}

template <class Read>
std::vector<std::size_t> read_each(const std::string& list, Read&& read) {
  std::set<std::size_t> once;
  for (const std::string& word : parts_of(list)) once.insert(read(word));
  return {once.begin(), once.end()};
}

}  // namespace

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream text(list);
  for (std::string word; std::getline(text, word, ',');) words.push_back(word);
  return words;
}

std::vector<std::size_t> read_sizes(const std::string& list) {
  return read_each(list, bytes);
}

std::vector<std::size_t> read_rank_counts(const std::string& list) {
  return read_each(list, rank_count);
}

}  // namespace cobre::command::bench
