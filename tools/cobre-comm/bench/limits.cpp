#include "limits.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <sstream>

#include "options.hpp"

namespace cobre::command::bench {
namespace {

// Of the bytes that one rank must get from others, and of one rank's share of a reduction.
std::size_t foreign(std::size_t bytes, std::size_t ranks) {
  return std::max<std::size_t>(8, bytes / ranks * (ranks - 1) / 8 * 8);
}

std::size_t share(std::size_t bytes, std::size_t ranks) {
  return std::max<std::size_t>(8, bytes / ranks / 8 * 8);
}

using Time = std::optional<double>;  // nothing where something was not measured

Time most(Time a, Time b) {
  return a && b ? Time(std::max(*a, *b)) : std::nullopt;
}

Time sum(Time a, Time b) {
  return a && b ? Time(*a + *b) : std::nullopt;
}

Time times(double factor, Time a) {
  return a ? Time(factor * *a) : a;
}

double tree_steps(std::size_t ranks) {
  return static_cast<double>(std::bit_width(ranks - 1));
}

// Of a pattern no limit could be said.
const std::set<std::string> limited{
    "barrier", "broadcast", "allreduce", "allgather",           "regions", "reduce", "gather", "scatter", "alltoall",
    "scan",    "exscan",    "message",   "reduce_scatter_block"};

// What has to be done is the same for a plan, and where a call says who has which part.
std::string work_of(const std::string& name) {
  std::string operation = name;
  for (const std::string_view suffix : {plan_suffix, setup_suffix}) {
    if (operation.ends_with(suffix)) operation.resize(operation.size() - suffix.size());
  }
  if (operation.ends_with('v')) operation.pop_back();
  return operation;
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
  const std::string operation = work_of(name);
  if (!limited.contains(operation)) return std::nullopt;
  if (ranks == 1) {
    const bool nothing = operation == "barrier" || operation == "broadcast" || operation == "exscan";
    if (nothing) return std::nullopt;  // to be done
    return time("memcpy", bytes);
  }
  return over_sockets ? through_sockets(operation, bytes, ranks) : through_memory(operation, bytes, ranks, cores);
}

std::optional<double> Limits::through_sockets(const std::string& operation, std::size_t bytes,
                                              std::size_t ranks) const {
  if (operation == "message") return most(time("loopback", 8), time("loopback_stream", bytes));
  const auto answered = times(tree_steps(ranks), time("loopback", 8));
  if (operation == "barrier") return answered;
  // Who only gives may run ahead of who takes, so nothing makes it wait for an answer.
  const std::set<std::string> one_after_the_other{"broadcast", "reduce", "scan", "exscan"};
  if (one_after_the_other.contains(operation)) return time("loopback_stream", bytes);
  if (operation == "gather" || operation == "scatter") return time("loopback_stream", foreign(bytes, ranks));
  const bool moved_once = operation == "allgather" || operation == "alltoall" || operation == "reduce_scatter_block";
  return most(answered, time("loopback_stream", foreign(bytes, ranks) * (moved_once ? 1 : 2)));
}

std::optional<double> Limits::copy(std::size_t bytes) const {
  const auto by_hand = time("memcpy", bytes);
  const auto by_kernel = time("readv", bytes);  // nothing where it is forbidden
  return by_hand && by_kernel ? std::min(by_hand, by_kernel) : by_hand;
}

std::optional<double> Limits::through_memory(const std::string& operation, std::size_t bytes, std::size_t ranks,
                                             std::size_t cores) const {
  const auto flags = times(tree_steps(ranks), time("flag_exchange", 0));
  if (operation == "barrier") return flags;
  // What all ranks together do, done by the cores that there are.
  const auto n = static_cast<double>(ranks);
  const double width = static_cast<double>(std::min(ranks, cores));
  const auto copies = [&](double number) { return times(number / width, copy(bytes)); };
  // A share is what each rank works on where all work on one vector.
  const auto shares = [&](double number, Time each) { return times(number * n / width, each); };
  const auto copied_shares = [&](double number) { return shares(number, copy(share(bytes, ranks))); };
  if (operation == "allgather" || operation == "alltoall") return most(flags, copies(n));
  if (operation == "message") {  // sender and receiver may copy one half each
    const double hands = static_cast<double>(std::min<std::size_t>(2, cores));
    return most(time("flag_exchange", 0), times(1 / hands, copy(bytes)));
  }
  // All adding, wherever the sums go.
  const auto adds = shares(n - 1, time("add", share(bytes, ranks)));
  // As with sockets, who only gives may run ahead.
  const auto ahead = time("line_handover", 0);
  if (operation == "broadcast") return most(ahead, copies(n - 1));
  if (operation == "gather" || operation == "scatter") return most(ahead, copied_shares(1));
  if (operation == "reduce") return most(ahead, adds);
  if (operation == "scan") return most(ahead, sum(adds, copied_shares(1)));  // the first rank's result is a copy
  if (operation == "exscan") {  // the second rank's is one, and the last rank gives to nobody
    return most(ahead, sum(shares(n - 2, time("add", share(bytes, ranks))), copied_shares(1)));
  }
  if (operation == "reduce_scatter_block") return most(flags, adds);
  // Each rank copies the sums that the others made. Buffers that everyone sees need no copy but the result.
  return most(flags, sum(adds, copied_shares(n - 1)));
}

}  // namespace cobre::command::bench
