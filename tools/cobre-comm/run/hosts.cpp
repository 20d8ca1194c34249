#include "hosts.hpp"

#include <cobre/comm/base/number.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "options.hpp"

namespace cobre::command {
namespace {

[[noreturn]] void refuse(std::string_view entry) {
  throw UsageError(
      comm::core::format("{} is no host: write name or name:ranks, as in --hosts a:4,b:4", comm::core::quoted(entry)));
}

std::size_t parse_count(std::string_view text, std::string_view entry) {
  const std::size_t count = comm::detail::parse_number<std::size_t>(text).value_or(0);
  constexpr std::size_t most = 100'000;
  if (count == 0 || count > most) refuse(entry);
  return count;
}

// A remote shell would act on it, or a terminal on which a message names it.
bool is_strange(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f || std::string_view(" \"'\\$`;&|<>()").find(c) != std::string_view::npos;
}

HostShare parse_host(std::string_view entry) {
  HostShare host;
  std::string_view rest;
  if (entry.starts_with('[')) {  // an address with colons of its own
    const auto end = entry.find(']');
    if (end == std::string_view::npos) refuse(entry);
    host.name = entry.substr(1, end - 1);
    rest = entry.substr(end + 1);
  } else {
    const auto colon = entry.find(':');
    host.name = entry.substr(0, colon);
    if (colon != std::string_view::npos) rest = entry.substr(colon);
  }
  // A name that begins with a dash would be an option of the remote shell.
  if (host.name.empty() || host.name.front() == '-' || std::ranges::any_of(host.name, is_strange)) refuse(entry);
  if (rest.empty()) return host;
  if (rest.front() != ':') refuse(entry);
  host.ranks = parse_count(rest.substr(1), entry);
  return host;
}

}  // namespace

std::vector<HostShare> parse_hosts(std::string_view list) {
  std::vector<HostShare> hosts;
  for (;;) {
    const auto comma = list.find(',');
    hosts.push_back(parse_host(list.substr(0, comma)));
    if (comma == std::string_view::npos) return hosts;
    list.remove_prefix(comma + 1);
  }
}

std::vector<HostShare> parse_hostfile(std::string_view text) {
  std::vector<HostShare> hosts;
  std::istringstream lines{std::string(text)};
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    hosts.push_back(parse_host(word));
    while (words >> word) {
      constexpr std::string_view slots = "slots=";
      if (word.starts_with(slots)) hosts.back().ranks = parse_count(std::string_view(word).substr(slots.size()), line);
    }
  }
  return hosts;
}

std::vector<HostShare> read_hostfile(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf()))
    throw UsageError(comm::core::format("cannot read the hosts in {}", comm::core::quoted(file)));
  auto hosts = parse_hostfile(text.str());
  if (hosts.empty()) throw UsageError(comm::core::format("{} names no host", comm::core::quoted(file)));
  return hosts;
}

std::vector<HostShare> fill(std::vector<HostShare> hosts, std::optional<std::size_t> ranks) {
  std::size_t places = 0;
  for (const HostShare& host : hosts) places += host.ranks;
  if (!ranks) return hosts;
  if (*ranks == 0) throw UsageError("-n 0: a job has at least one rank");
  if (*ranks > places) {
    throw UsageError(comm::core::format(
        "-n {}: the hosts have places for {} ranks; give them more, as in --hosts a:8,b:8", *ranks, places));
  }
  std::size_t left = *ranks;
  for (HostShare& host : hosts) {
    host.ranks = std::min(host.ranks, left);
    left -= host.ranks;
  }
  std::erase_if(hosts, [](const HostShare& host) { return host.ranks == 0; });
  return hosts;
}

}  // namespace cobre::command
