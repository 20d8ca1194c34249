#include "layout.hpp"

#include <unistd.h>
#include <cobre/comm.hpp>

#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "comm/core/waiting_cpus.hpp"
#include "comm/topology/machine.hpp"
#include "facts.hpp"
#include "launch.hpp"
#include "run/places.hpp"
#include "text.hpp"

namespace cobre::command {
namespace {

struct Place {
  comm::core::CpuMask cpus{};
  std::int64_t pid = 0;
};

std::vector<std::size_t> sharers(const std::vector<Place>& places, const comm::HostInfo& host, std::size_t rank) {
  std::vector<std::size_t> others;
  for (const std::size_t other : host.ranks) {
    if (other != rank && comm::topology::overlap(places[other].cpus, places[rank].cpus)) others.push_back(other);
  }
  return others;
}

Facts rank_facts(const comm::ExecutionTopology& topology, const std::vector<Place>& places, const comm::HostInfo& host,
                 std::size_t rank) {
  const auto others = sharers(places, host, rank);
  return {{"rank", rank},
          {"host", host.hostname},
          {"pid", places[rank].pid},
          {"numa", topology.placements.at(rank).numa_domains},
          {"cpus", cpu_list(places[rank].cpus)},
          {"threads", topology.recommended_threads(rank)},
          {"shares_cpus_with", others.empty() ? "nobody" : comm::core::rank_list(others)}};
}

Facts layout(const comm::ExecutionTopology& topology, const std::vector<Place>& places) {
  Facts facts{{"backend", comm::to_string(topology.backend)},
              {"ranks", topology.world_size},
              {"hosts", topology.num_hosts()},
              {"equally_many_on_each_host", topology.is_homogeneous()}};
  bool overlapping = false;
  Facts list = Facts::array();  // host by host
  for (const comm::HostInfo& host : topology.hosts) {
    for (const std::size_t rank : host.ranks) {
      list.push_back(rank_facts(topology, places, host, rank));
      overlapping = overlapping || !sharers(places, host, rank).empty();
    }
  }
  facts["placement"] = std::move(list);
  facts["overlap"] = overlapping;
  if (const auto spanning = topology.ranks_that_span_domains(); !spanning.empty()) {
    facts["on_several_numa_domains"] = comm::core::rank_list(spanning);
  }
  return facts;
}

}  // namespace

int show_layout(bool as_json) {
  return comm::run([&](const auto& comm) {
    if (const auto problem = explain_singletons(comm.size())) {
      std::fputs(comm::core::format("cobre-comm: {}\n", *problem).c_str(), stderr);
      return 1;
    }
    const auto places = comm.allgatherv(std::array{Place{comm::core::allowed_cpus(), getpid()}});
    if (comm.rank() == 0) {
      const Facts facts = layout(comm.topology(), places.values);
      std::puts((as_json ? facts.dump(2) : as_text(facts)).c_str());
      std::fflush(stdout);
    }
    return 0;
  });
}

}  // namespace cobre::command
