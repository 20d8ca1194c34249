#include "results.hpp"

#include <algorithm>
#include <span>

#include "options.hpp"
#include "run/mpi.hpp"

namespace cobre::command::bench {
namespace {

// What everyone who shares memory can be beside is the best of all; who may only use sockets stands beside its like.
bool comparable(const Record& own, const Record& peer) {
  return !peer.contestant->ours && (peer.contestant->over_sockets || !own.contestant->over_sockets);
}

// The mpi backend is a layer over one library: it can be as fast as that one, and another library is no measure of it.
bool same_library(const Record& own, const Record& peer) {
  const auto& library = own_family() == MpiFamily::Mpich ? std::vector<std::string>{"mpich"}
                                                         : std::vector<std::string>{"openmpi", "boost-mpi"};
  return own.contestant->backend != "mpi" || std::ranges::find(library, peer.contestant->name) != library.end();
}

template <class Allowed>
void find_best_peer(Record& own, std::span<const Record> others, const Allowed& allowed) {
  for (const Record& other : others) {
    const double ratio = other.summary.median / own.summary.median;
    if (!allowed(other) || (own.ratio && *own.ratio <= ratio)) continue;
    own.ratio = ratio;
    own.best_peer = other.contestant->name;
    own.peer_noise = other.summary.noise;
  }
}

void rate(Record& own, std::span<const Record> at_this_point, bool crowded, const Bars& bars) {
  std::map<std::string, double> ratios;
  for (const Record& other : at_this_point) {
    ratios[other.contestant->name] = other.summary.median / own.summary.median;
  }
  find_best_peer(own, at_this_point, [&](const Record& r) { return comparable(own, r) && same_library(own, r); });
  if (!own.ratio) find_best_peer(own, at_this_point, [&](const Record& r) { return comparable(own, r); });
  own.verdict = bars.judge({own.contestant->name, own.operation, own.bytes, crowded}, ratios);
}

// What making a plan took belongs to the plan.
std::vector<Record> with_setup_inside(std::vector<Record> records) {
  for (const Record& setup : records) {
    if (!setup.operation.ends_with(setup_suffix)) continue;
    const std::string operation = setup.operation.substr(0, setup.operation.size() - setup_suffix.size());
    for (Record& plan : records) {
      if (plan.operation == operation + std::string(plan_suffix) && plan.bytes == setup.bytes &&
          plan.ranks == setup.ranks && plan.contestant == setup.contestant) {
        plan.setup = setup.summary.median;
      }
    }
  }
  std::erase_if(records, [](const Record& record) { return record.operation.ends_with(setup_suffix); });
  return records;
}

}  // namespace

void Results::add(const std::string& operation, std::size_t bytes, std::size_t ranks, const Contestant& contestant,
                  const std::string& level, std::vector<double> times) {
  auto place = std::ranges::find(operations_, operation);
  if (place == operations_.end()) place = operations_.insert(operations_.end(), operation);
  auto& all = samples_[{ranks, static_cast<std::size_t>(place - operations_.begin()), bytes}];
  const auto found = std::ranges::find_if(
      all, [&](const Sampled& one) { return one.contestant == &contestant && one.level == level; });
  auto& sampled = found != all.end() ? *found : all.emplace_back(Sampled{&contestant, level, {}});
  sampled.rounds.push_back(std::move(times));
}

std::vector<Record> Results::records(const Limits& limits, std::size_t cores, const Bars& bars) const {
  std::vector<Record> records;
  std::vector<std::pair<std::size_t, std::size_t>> points;  // where the records of each begin and end
  for (const auto& [point, all] : samples_) {
    const std::size_t begin = records.size();
    for (const Sampled& sampled : all) {
      Record record{operations_[point.operation],
                    point.bytes,
                    point.ranks,
                    sampled.contestant,
                    sampled.level,
                    summarise(sampled.rounds),
                    {},
                    {},
                    {},
                    {},
                    {},
                    {}};
      record.limit = limits.of(record.operation, record.bytes, record.ranks, cores, sampled.contestant->over_sockets);
      const auto same = std::find_if(records.begin() + static_cast<std::ptrdiff_t>(begin), records.end(),
                                     [&](const Record& r) { return r.contestant == record.contestant; });
      if (same == records.end()) {
        records.push_back(std::move(record));
      } else if (record.summary.median < same->summary.median) {
        *same = std::move(record);
      }
    }
    points.emplace_back(begin, records.size());
  }
  for (const auto& [begin, end] : points) {
    const auto here = std::span(records).subspan(begin, end - begin);
    for (Record& record : here) {
      if (record.contestant->ours) rate(record, here, record.ranks > cores, bars);
    }
  }
  return with_setup_inside(std::move(records));
}

}  // namespace cobre::command::bench
