// Every collective operation, with each of the arguments that one rank may get wrong: what must be found out wherever
// operations are compared.
#pragma once

#include <cobre/comm.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/outcome.hpp"

namespace mismatch {

using cobre::comm::CommBackend;
using cobre::comm::ReduceOp;
using cobre::comm::Reproducible;
using Call = std::function<void(const CommBackend&)>;

struct Arguments {
  bool other_type = false;
  std::size_t count = 5;
  ReduceOp op = ReduceOp::Sum;
  std::size_t root = 0;
  Reproducible reproducible = Reproducible::Default;
  bool huge_pages = false;
};

/// What one rank may get wrong, by the name that the error gives it.
inline const std::map<std::string, Arguments> wrong = {
    {"type", {.other_type = true}},   {"count", {.count = 6}}, {"counts", {.count = 6}},
    {"op", {.op = ReduceOp::Max}},    {"root", {.root = 1}},   {"reproducible", {.reproducible = Reproducible::Yes}},
    {"options", {.huge_pages = true}}};

struct Operation {
  std::string name;
  std::vector<std::string> fields;
  std::function<void(const CommBackend&, const Arguments&)> run;
};

inline Call call(const Operation& operation, const Arguments& arguments = {}) {
  return [=](const CommBackend& comm) { operation.run(comm, arguments); };
}

// Another type of the same length: what the others would take for theirs, if nobody looked.
template <class Run>
auto typed(Run run) {
  return [run](const CommBackend& comm, const Arguments& arguments) {
    if (arguments.other_type) {
      run(comm, arguments, std::vector<std::int64_t>(arguments.count));
    } else {
      run(comm, arguments, std::vector<double>(arguments.count));
    }
  };
}
// So many times as much.
template <class Values>
Values times(const Values& values, std::size_t ranks) {
  return Values(values.size() * ranks);
}

// One behind the other, all of one length.
struct Parts {
  Parts(std::size_t ranks, std::size_t count) : counts(ranks, count) {
    for (std::size_t rank = 0; rank < ranks; ++rank) displs.push_back(rank * count);
  }
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
};

// The lengths of gatherv, scatterv and alltoallv are known to two ranks each: pairwise_lengths() has those.
inline std::vector<Operation> operations() {
  return {
      {"barrier", {}, [](const CommBackend& comm, const Arguments&) { comm.barrier(); }},
      {"broadcast", {"type", "count", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.broadcast(data, a.root);
       })},
      {"allreduce",
       {"type", "count", "op", "reproducible"},
       typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.allreduce_inplace(data, a.op, a.reproducible);
       })},
      {"allgather", {"type", "count"}, typed([](const CommBackend& comm, const Arguments&, auto data) {
         auto all = times(data, comm.size());
         comm.allgather(data, all);
       })},
      {"allgatherv", {"type", "counts"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto all = times(data, comm.size());
         const Parts parts(comm.size(), a.count);
         comm.allgatherv(data, all, parts.counts, parts.displs);
       })},
      {"gather", {"type", "count", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto all = times(data, comm.size());
         comm.gather(data, all, a.root);
       })},
      {"gatherv", {"type", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto all = times(data, comm.size());
         const Parts parts(comm.size(), a.count);
         comm.gatherv(data, all, parts.counts, parts.displs, a.root);
       })},
      {"scatter", {"type", "count", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.scatter(times(data, comm.size()), data, a.root);
       })},
      {"scatterv", {"type", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         const Parts parts(comm.size(), a.count);
         comm.scatterv(times(data, comm.size()), parts.counts, parts.displs, data, a.root);
       })},
      {"alltoall", {"type", "count"}, typed([](const CommBackend& comm, const Arguments&, auto data) {
         auto all = times(data, comm.size());
         comm.alltoall(times(data, comm.size()), all);
       })},
      {"alltoallv", {"type"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto all = times(data, comm.size());
         const Parts parts(comm.size(), a.count);
         comm.alltoallv(times(data, comm.size()), parts.counts, parts.displs, all, parts.counts, parts.displs);
       })},
      {"reduce",
       {"type", "count", "op", "root", "reproducible"},
       typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto result = data;
         comm.reduce(data, result, a.op, a.root, a.reproducible);
       })},
      {"scan",
       {"type", "count", "op", "reproducible"},
       typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto result = data;
         comm.scan(data, result, a.op, a.reproducible);
       })},
      {"exscan",
       {"type", "count", "op", "reproducible"},
       typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto result = data;
         comm.exscan(data, result, a.op, a.reproducible);
       })},
      {"reduce_scatter_block",
       {"type", "count", "op", "reproducible"},
       typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.reduce_scatter_block(times(data, comm.size()), data, a.op, a.reproducible);
       })},
      {"create_shared_region",
       {"type", "count", "options"},
       [](const CommBackend& comm, const Arguments& a) {
         cobre::comm::RegionOptions options;
         options.huge_pages = a.huge_pages;
         if (a.other_type) {  // of another length: pages do not know what they hold
           (void)comm.create_shared_region<float>(a.count, options);
         } else {
           (void)comm.create_shared_region<double>(a.count, options);
         }
       }},
      {"split", {}, [](const CommBackend& comm, const Arguments&) { (void)comm.split(0); }},
      {"duplicate", {}, [](const CommBackend& comm, const Arguments&) { (void)comm.duplicate(); }},
      {"node", {}, [](const CommBackend& comm, const Arguments&) { (void)comm.node(); }},
  };
}

// Those that nobody waits for at once. They run on duplicates of the communicator, its lanes, which are taken in turn.
constexpr int lanes = 4;

inline std::vector<Operation> requests() {
  return {
      {"ibarrier", {}, [](const CommBackend& comm, const Arguments&) { comm.ibarrier().wait(); }},
      {"ibroadcast", {"type", "count", "root"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.ibroadcast(data, a.root).wait();
       })},
      {"iallreduce",
       {"type", "count", "op", "reproducible"},
       typed([](const CommBackend& comm, const Arguments& a, auto data) {
         comm.iallreduce_inplace(data, a.op, a.reproducible).wait();
       })},
      {"iallgatherv", {"type", "counts"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto all = times(data, comm.size());
         const Parts parts(comm.size(), a.count);
         comm.iallgatherv(data, all, parts.counts, parts.displs).wait();
       })},
  };
}

// Plans have a duplicate each. They are started until a root has heard too, which need not wait for those it sends to.
inline void start_often(cobre::comm::PersistentRequest plan) {
  for (int i = 0; i < 1000; ++i) {
    plan.start();
    plan.wait();
  }
}

inline std::vector<Operation> plans() {
  return {
      {"a plan of broadcast",
       {"type", "count", "root"},
       typed([](const CommBackend& comm, const Arguments& a, auto data) {
         start_often(comm.broadcast_init(data, a.root));
       })},
      {"a plan of allreduce",
       {"type", "count", "op", "reproducible"},
       typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto result = data;
         start_often(comm.allreduce_init(data, result, a.op, a.reproducible));
       })},
      {"a plan of allgatherv", {"type", "counts"}, typed([](const CommBackend& comm, const Arguments& a, auto data) {
         auto all = times(data, comm.size());
         const Parts parts(comm.size(), a.count);
         start_often(comm.allgatherv_init(data, all, parts.counts, parts.displs));
       })},
  };
}

/// What becomes of a request that another rank does not mean, and what of the communicator itself: a rank that only
/// sends is told by what next takes that lane.
inline std::string outcome_of_request(const CommBackend& comm, const Call& request) {
  for (int i = 0; i < lanes; ++i) comm.ibarrier().wait();
  const std::string at_once = test::outcome_of([&] { request(comm); });
  for (int i = 1; i < lanes; ++i) comm.ibarrier().wait();
  const std::string later = test::outcome_of([&] { comm.ibarrier().wait(); });
  const std::string outcome = later == "InvalidCommunicator" ? at_once : at_once + ", then " + later;
  return (at_once == "fine" ? later : outcome) + "; " + test::outcome_of([&] { comm.barrier(); });
}
inline std::string outcome_of_plan(const CommBackend& comm, const Call& plan) {
  const std::string outcome = test::outcome_of([&] { plan(comm); });
  return outcome + "; " + test::outcome_of([&] { comm.barrier(); });
}

/// Some ranks begin a request, or start a plan, where the others make a call that waits: what becomes of that, and of
/// the communicator afterwards. Each lane is there, and the plan is made, before they part.
inline std::string outcome_of_parting(const CommBackend& comm, bool requests, bool planned) {
  for (int i = 0; i < lanes; ++i) comm.ibarrier().wait();
  const std::vector<double> send(3);
  std::vector<double> recv(3);
  auto plan = comm.allreduce_init(send, recv, ReduceOp::Sum);
  const std::string first = test::outcome_of([&] {
    if (requests && planned) {
      plan.start();
      plan.wait();
    } else if (requests) {
      comm.ibarrier().wait();
    } else {
      comm.barrier();
    }
  });
  const std::string second = test::outcome_of([&] { comm.barrier(); });
  return first + "; " + second + "; " + test::outcome_of([&] { comm.barrier(); });
}
/// What that has to be. Who was told by a request is told once more by the communicator.
inline std::string parted(bool requests, const std::string& odd_ones) {
  const std::string told = "CollectiveMismatch operation " + odd_ones + "; ";
  return told + (requests ? told : "InvalidCommunicator; ") + "InvalidCommunicator";
}

/// What a rank of three is told where rank 1 begins a request and the others make a call that waits.
inline std::string words_of_parting(const CommBackend& comm) {
  for (int i = 0; i < lanes; ++i) comm.ibarrier().wait();
  std::vector<float> data(4);
  try {
    if (comm.rank() == 1) {
      comm.iallreduce_inplace(data, ReduceOp::Max).wait();
    } else {
      comm.barrier();
    }
  } catch (const cobre::comm::CollectiveMismatch& error) {
    return error.what();
  }
  return "nothing";
}
/// What that has to be.
inline std::string parted_in_words(std::size_t rank) {
  return std::string(rank == 1 ? "allreduce" : "barrier") + " on rank " + std::to_string(rank) +
         " of 3: the ranks do not agree on the operation: rank 0 is in barrier, rank 1 in nonblocking allreduce of "
         "4 x float with Max; all ranks must call the same operations in the same order with arguments that fit "
         "together (differing: rank 1)";
}

// Two regions, and the fence of one of them.
inline std::vector<cobre::comm::CommRegion<int>> regions_of(const CommBackend& comm) {
  std::vector<cobre::comm::CommRegion<int>> regions;
  for (int i = 0; i < 2; ++i) regions.push_back(comm.create_shared_region<int>(3));
  return regions;
}
inline Call fence_of(std::size_t which) {
  return [=](const CommBackend& comm) { regions_of(comm)[which].fence(); };
}

using Sizes = std::vector<std::size_t>;

// Rank r has (r + 2) * scale elements for the last one, which expects `extra` more of rank 0.
inline Call gatherv(std::size_t scale, std::size_t extra) {
  return [=](const CommBackend& comm) {
    Sizes counts;
    Sizes displs;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) {
      counts.push_back((rank + 2) * scale + (rank == 0 ? extra : 0));
      displs.push_back(10 * scale * rank);
    }
    const std::vector<float> send((comm.rank() + 2) * scale);
    std::vector<float> recv(10 * scale * comm.size());
    comm.gatherv(send, recv, counts, displs, comm.size() - 1);
  };
}

// Rank 0 has as much for everyone as they expect, but for `extra`.
inline Call scatterv(std::size_t scale, std::size_t extra) {
  return [=](const CommBackend& comm) {
    const Sizes counts(comm.size(), 3 * scale);
    const Sizes displs(comm.size(), scale);
    const std::vector<float> send(4 * scale);
    std::vector<float> recv(3 * scale + extra);
    comm.scatterv(send, counts, displs, recv, 0);
  };
}

// Everyone expects `extra` more of rank 0 than it has.
inline Call alltoallv(std::size_t scale, std::size_t extra) {
  return [=](const CommBackend& comm) {
    const Sizes sent(comm.size(), scale);
    Sizes received(comm.size(), scale);
    if (comm.rank() != 0) received[0] += extra;
    Sizes displs;
    for (std::size_t rank = 0; rank < comm.size(); ++rank) displs.push_back(2 * scale * rank);
    const std::vector<double> send(2 * scale * comm.size());
    std::vector<double> recv(2 * scale * comm.size());
    comm.alltoallv(send, sent, displs, recv, received, displs);
  };
}

// Structs, which the library knows by their length alone.
struct Point {
  double x, y;
};
struct Box {
  Point low, high;
};
static_assert(sizeof(Point) != sizeof(Box));

// What is done to them, whatever they are.
constexpr auto first_of = [](const auto& first, const auto&) { return first; };

template <class T>
Call broadcast_of(std::size_t count) {
  return [=](const CommBackend& comm) {
    std::vector<T> data(count);
    comm.broadcast(data, 0);
  };
}
template <class T>
Call broadcast_resized_of(std::size_t count) {
  return [=](const CommBackend& comm) {
    std::vector<T> data(count);
    comm.broadcast_resized(data, 0);
  };
}
template <class T>
Call allgatherv_of(std::size_t count) {
  return [=](const CommBackend& comm) {
    const Parts parts(comm.size(), count);
    std::vector<T> all(count * comm.size());
    comm.allgatherv(std::vector<T>(count), all, parts.counts, parts.displs);
  };
}
template <class T>
Call allreduce_of(std::size_t count) {
  return [=](const CommBackend& comm) {
    std::vector<T> data(count);
    comm.allreduce_inplace(data, first_of);
  };
}

/// Every reduction, by a ReduceOp or by what the user calls it.
inline std::vector<std::pair<std::string, Call>> reductions(auto op) {
  const auto with = [op](auto reduce) -> Call {
    return [=](const CommBackend& comm) {
      const std::vector<double> send(5 * comm.size());
      std::vector<double> recv(5 * comm.size());
      reduce(comm, op, send, recv);
    };
  };
  return {
      {"allreduce",
       with([](const CommBackend& comm, auto f, const auto& send, auto& recv) { comm.allreduce(send, recv, f); })},
      {"reduce",
       with([](const CommBackend& comm, auto f, const auto& send, auto& recv) { comm.reduce(send, recv, f, 0); })},
      {"scan", with([](const CommBackend& comm, auto f, const auto& send, auto& recv) { comm.scan(send, recv, f); })},
      {"exscan",
       with([](const CommBackend& comm, auto f, const auto& send, auto& recv) { comm.exscan(send, recv, f); })},
      {"reduce_scatter_block", with([](const CommBackend& comm, auto f, const auto& send, auto& recv) {
         comm.reduce_scatter_block(send, std::span(recv).first(5), f);
       })}};
}

/// What the tables above do not tell apart: two calls, and what the error says is different.
struct Difference {
  std::string name;
  Call usual;
  Call odd;
  std::string field;
};
inline std::vector<Difference> differences() {
  const Call node = [](const CommBackend& comm) { (void)comm.node(); };
  const Call split = [](const CommBackend& comm) { (void)comm.split(0); };
  const Call duplicate = [](const CommBackend& comm) { (void)comm.duplicate(); };
  const Call barrier = [](const CommBackend& comm) { comm.barrier(); };
  std::vector<Difference> all{
      {"a struct of another length in broadcast", broadcast_of<Point>(4), broadcast_of<Box>(4), "type"},
      {"a struct of another length in a long broadcast", broadcast_of<Box>(9'000), broadcast_of<Point>(9'000), "type"},
      {"as many bytes of another struct in broadcast", broadcast_of<Point>(4), broadcast_of<Box>(2), "type"},
      {"a struct of another length in allgatherv", allgatherv_of<Point>(4), allgatherv_of<Box>(4), "type"},
      {"a struct of another length in allreduce", allreduce_of<Point>(4), allreduce_of<Box>(4), "type"},
      {"a struct instead of as long a number", broadcast_of<std::complex<double>>(4), broadcast_of<Point>(4), "type"},
      {"node where the others split", split, node, "operation"},
      {"node where the others duplicate", duplicate, node, "operation"},
      {"node where the others are in a barrier", barrier, node, "operation"},
      {"broadcast where the others are in node", node, broadcast_of<double>(4), "operation"},
      {"allreduce where the others are in node", node, allreduce_of<double>(9'000), "operation"},
      {"allgatherv where the others are in node", node, allgatherv_of<double>(1), "operation"},
      {"duplicate where the others are in node", node, duplicate, "operation"},
      {"create_shared_region where the others are in node", node,
       [](const CommBackend& comm) { (void)comm.create_shared_region<double>(3); }, "operation"},
      {"reproducible_sum where the others are in a barrier", barrier,
       [](const CommBackend& comm) { (void)comm.reproducible_sum(1.0); }, "operation"},
      {"reproducible_sum of a float where the others add doubles",
       [](const CommBackend& comm) { (void)comm.reproducible_sum(1.0); },
       [](const CommBackend& comm) { (void)comm.reproducible_sum(1.0F); }, "type"},
      {"a struct of another length in broadcast_resized", broadcast_resized_of<Box>(4), broadcast_resized_of<Point>(4),
       "type"},
      {"broadcast_resized where the others broadcast", broadcast_of<double>(1), broadcast_resized_of<double>(1),
       "operation"},
  };
  const auto by_op = reductions(ReduceOp::Sum);
  const auto by_callable = reductions([](double a, double b) { return a + b; });
  for (std::size_t i = 0; i < by_op.size(); ++i) {
    all.push_back({"a callable in " + by_op[i].first, by_op[i].second, by_callable[i].second, "op"});
    all.push_back({"a ReduceOp in " + by_op[i].first, by_callable[i].second, by_op[i].second, "op"});
  }
  return all;
}

/// Lengths that only two ranks know, in operations of three: what the odd one does makes those two disagree.
struct PairMismatch {
  std::string name;
  Call (*make)(std::size_t scale, std::size_t extra);
  std::size_t odd_one;
  std::string expected;
};
inline std::vector<PairMismatch> pairwise_lengths() {
  return {{"gatherv", gatherv, 2, "counts 0 2"},
          {"scatterv", scatterv, 2, "counts 0 2"},
          {"alltoallv", alltoallv, 1, "counts 0 1"}};
}

}  // namespace mismatch
