#include "transport.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "run/mpi.hpp"

namespace cobre::command {
namespace {

// The word that stands between two pieces of a line, if they are in it.
std::string between(const std::string& line, std::string_view before, std::string_view after) {
  const auto begin = line.find(before);
  if (begin == std::string::npos) return "";
  const auto end = line.find(after, begin + before.size());
  return end == std::string::npos ? "" : line.substr(begin + before.size(), end - begin - before.size());
}

}  // namespace

std::string transport_in(const std::string& told) {
  std::string layer;
  std::vector<std::string> ways;
  std::istringstream lines(told);
  for (std::string line; std::getline(lines, line);) {
    if (const auto chosen = between(line, "selected ", " best priority"); !chosen.empty()) layer = chosen;
    const auto way = between(line, "bml: Using ", " btl");
    if (!way.empty() && way != "self" && std::ranges::find(ways, way) == ways.end()) ways.push_back(way);
  }
  if (layer.empty() || ways.empty()) return layer;
  std::ranges::sort(ways);
  return comm::core::format("{} with {}", layer, comm::core::joined(ways, ", "));
}

std::string transport(const std::string& library, const MpiProbe& probe) {
  constexpr std::string_view key = "MPICH Device:";
  if (const auto at = library.find(key); at != std::string::npos) {
    const auto begin = library.find_first_not_of(" \t", at + key.size());
    return begin == std::string::npos ? "unknown" : library.substr(begin, library.find('\n', begin) - begin);
  }
  if (own_family() != MpiFamily::OpenMpi) return "unknown";
  if (!probe.tried) return "unknown: " + probe.reason;
  const std::string found = transport_in(probe.told);
  return found.empty() ? "unknown: two processes on this machine did not start" : found + " (tried on this machine)";
}

}  // namespace cobre::command
