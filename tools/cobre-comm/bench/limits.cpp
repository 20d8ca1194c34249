#include "limits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <sstream>

namespace cobre::command::bench {
namespace {

// Of the bytes that one rank must get from others, and of one rank's share of a reduction.
std::size_t foreign(std::size_t bytes, std::size_t ranks) {
  return std::max<std::size_t>(8, bytes / ranks * (ranks - 1) / 8 * 8);
}

std::size_t share(std::size_t bytes, std::size_t ranks) {
  return std::max<std::size_t>(8, bytes / ranks / 8 * 8);
}

}  // namespace

Limits::Limits(const std::string& lines) {
  std::istringstream text(lines);
  std::string what;
  std::size_t bytes = 0;
  for (double time = 0; text >> what >> bytes >> time;) times_[{what, bytes}] = time;
}

std::optional<double> Limits::time(const std::string& what, std::size_t bytes) const {
  const auto found = times_.find({what, bytes});
  return found == times_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::size_t> Limits::sizes(std::size_t bytes, std::size_t ranks) {
  if (bytes == 0) return {8};
  return {bytes, foreign(bytes, ranks), 2 * foreign(bytes, ranks), share(bytes, ranks)};
}

std::optional<double> Limits::of(const std::string& name, std::size_t bytes, std::size_t ranks, std::size_t cores,
                                 bool over_sockets) const {
  const std::string operation = name.substr(0, name.find('_'));  // a plan does the same
  const std::array said{"barrier", "broadcast", "allreduce", "allgatherv", "regions"};
  if (std::ranges::find(said, operation) == said.end()) return std::nullopt;
  const auto steps = static_cast<double>(std::bit_width(ranks - 1));  // of a tree
  const auto most = [](std::optional<double> a, std::optional<double> b) {
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  };
  const auto times = [](double factor, std::optional<double> a) { return a ? std::optional(factor * *a) : a; };
  if (ranks == 1) {
    if (operation == "barrier" || operation == "broadcast") return std::nullopt;  // nothing to be done
    return time("memcpy", bytes);
  }
  if (over_sockets) {
    if (operation == "barrier") return times(steps, time("loopback", 8));
    // A root may run ahead of its readers, so nothing makes it wait for an answer.
    if (operation == "broadcast") return time("loopback_stream", bytes);
    const std::size_t received = foreign(bytes, ranks) * (operation == "allgatherv" ? 1 : 2);
    return most(times(steps, time("loopback", 8)), time("loopback_stream", received));
  }
  const auto flags = times(steps, time("flag_exchange", 0));
  if (operation == "barrier") return flags;
  // Copies of all ranks together, done by the cores that there are.
  const double width = static_cast<double>(std::min(ranks, cores));
  const auto n = static_cast<double>(ranks);
  const auto copy = time("memcpy", bytes);
  if (operation == "broadcast") return most(time("line_handover", 0), times((n - 1) / width, copy));
  if (operation == "allgatherv") return most(flags, times(n / width, copy));
  // Each rank adds its share of all contributions, and copies the shares of the others.
  const auto add = times((n - 1) * n / width, time("add", share(bytes, ranks)));
  // Buffers that everyone sees need no copy but the result.
  const auto spread = times((n - 1) * n / width, time("memcpy", share(bytes, ranks)));
  return most(flags, add && spread ? std::optional(*add + *spread) : std::nullopt);
}

}  // namespace cobre::command::bench
