#include "crash/program.hpp"

#include <algorithm>

namespace crash {
namespace {

// Each of these goes another way in shared memory; on the network they are one packet, several, and many.
constexpr std::size_t tiny = 1;
constexpr std::size_t small = 300;
constexpr std::size_t large = 40'000;

void require(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string("wrong ") + what);
}

std::uint64_t ranks(const CommBackend& comm) {
  return comm.size();
}
std::uint64_t sum_of_ranks(const CommBackend& comm) {
  return ranks(comm) * (ranks(comm) - 1) / 2;
}
std::vector<std::uint64_t> of_rank(const CommBackend& comm, std::size_t count) {
  return std::vector<std::uint64_t>(count, comm.rank());
}
bool all_are(const std::vector<std::uint64_t>& values, std::uint64_t value) {
  for (const std::uint64_t one : values) {
    if (one != value) return false;
  }
  return true;
}

void barrier(const CommBackend& comm) {
  comm.barrier();
}

template <std::size_t Count>
void broadcast(const CommBackend& comm) {
  for (const std::size_t root : {std::size_t{0}, comm.size() - 1}) {
    auto data = of_rank(comm, Count);
    comm.broadcast(data, root);
    require(all_are(data, root), "broadcast");
  }
}

// So long that a rank without room must not be alone in failing: the ranks agree before the elements follow.
void broadcast_resized(const CommBackend& comm) {
  for (const std::size_t root : {std::size_t{0}, comm.size() - 1}) {
    auto data = comm.rank() == root ? of_rank(comm, large) : std::vector<std::uint64_t>(tiny);
    comm.broadcast_resized(data, root);
    require(data.size() == large && all_are(data, root), "broadcast_resized");
  }
}

template <std::size_t Count>
void allreduce(const CommBackend& comm) {
  auto data = of_rank(comm, Count);
  comm.allreduce_inplace(data, ReduceOp::Sum);
  require(all_are(data, sum_of_ranks(comm)), "allreduce");
}

// What the library does not know how to fold.
template <std::size_t Count>
void allreduce_by_callable(const CommBackend& comm) {
  auto data = of_rank(comm, Count);
  comm.allreduce_inplace(data, [](std::uint64_t a, std::uint64_t b) { return a + b; });
  require(all_are(data, sum_of_ranks(comm)), "allreduce by a callable");
}

void reproducible_sum(const CommBackend& comm) {
  const std::vector<double> data(small, static_cast<double>(comm.rank()));
  require(comm.reproducible_sum(data) == static_cast<double>(small * sum_of_ranks(comm)), "reproducible sum");
}

template <std::size_t Count>
void allgatherv(const CommBackend& comm) {
  const auto all = comm.allgatherv(of_rank(comm, Count));
  for (std::size_t rank = 0; rank < comm.size(); ++rank) {
    require(all.counts[rank] == Count && all.values[all.displs[rank]] == rank, "allgatherv");
  }
}

template <std::size_t Count>
void allgather(const CommBackend& comm) {
  std::vector<std::uint64_t> all(Count * comm.size());
  comm.allgather(of_rank(comm, Count), all);
  for (std::size_t rank = 0; rank < comm.size(); ++rank) {
    require(all[rank * Count] == rank && all[(rank + 1) * Count - 1] == rank, "allgather");
  }
}

template <std::size_t Count>
void gather_and_scatter(const CommBackend& comm) {
  const std::size_t root = comm.size() - 1;
  std::vector<std::uint64_t> all(comm.rank() == root ? Count * comm.size() : 0);
  comm.gather(of_rank(comm, Count), all, root);
  std::vector<std::uint64_t> back(Count);
  comm.scatter(all, back, root);
  require(all_are(back, comm.rank()), "gather and scatter");
}

template <std::size_t Count>
void gatherv_and_scatterv(const CommBackend& comm) {
  const std::size_t root = comm.size() - 1;
  const auto all = comm.gatherv(of_rank(comm, Count), root);
  std::vector<std::size_t> counts;
  if (comm.rank() == root) counts.assign(comm.size(), Count);
  const auto back = comm.scatterv(all.values, counts, root);
  require(back.size() == Count && all_are(back, comm.rank()), "gatherv and scatterv");
}

template <std::size_t Count>
void alltoallv(const CommBackend& comm) {
  const std::vector<std::size_t> counts(comm.size(), Count);
  const auto all = comm.alltoallv(of_rank(comm, Count * comm.size()), counts);
  for (std::size_t rank = 0; rank < comm.size(); ++rank) require(all.values[rank * Count] == rank, "alltoallv");
}

template <std::size_t Count>
void alltoall(const CommBackend& comm) {
  const auto data = of_rank(comm, Count * comm.size());
  std::vector<std::uint64_t> all(data.size());
  comm.alltoall(data, all);
  for (std::size_t rank = 0; rank < comm.size(); ++rank) require(all[rank * Count] == rank, "alltoall");
}

template <std::size_t Count>
void reduce_and_scan(const CommBackend& comm) {
  const auto data = of_rank(comm, Count);
  std::vector<std::uint64_t> result(Count);
  comm.reduce(data, result, ReduceOp::Sum, 0);
  require(comm.rank() != 0 || all_are(result, sum_of_ranks(comm)), "reduce");
  comm.scan(data, result, ReduceOp::Sum);
  require(all_are(result, comm.rank() * (comm.rank() + 1) / 2), "scan");
}

template <std::size_t Count>
void exscan(const CommBackend& comm) {
  std::vector<std::uint64_t> result(Count);
  comm.exscan(of_rank(comm, Count), result, ReduceOp::Sum);
  require(comm.rank() == 0 || all_are(result, comm.rank() * (comm.rank() - 1) / 2), "exscan");
}

template <std::size_t Count>
void reduce_scatter(const CommBackend& comm) {
  std::vector<std::uint64_t> result(Count);
  comm.reduce_scatter_block(of_rank(comm, Count * comm.size()), result, ReduceOp::Sum);
  require(all_are(result, sum_of_ranks(comm)), "reduce_scatter_block");
}

void region(const CommBackend& comm) {
  auto region = comm.create_shared_region<std::uint64_t>(1000);
  if (comm.is_leader()) region.as_mut_span().back() = 7;
  region.fence();
  require(region.as_span().back() == 7, "region");
  region.fence();
}

void split(const CommBackend& comm) {
  const auto part = comm.split(static_cast<int>(comm.rank() % 2));
  require(part.has_value(), "part");
  try {
    require(part->allreduce(std::uint64_t{1}, ReduceOp::Sum) == part->size(), "sum of a part");
  } catch (const cobre::comm::PeerFailed&) {
    // In the part ranks have other numbers. What the rank is called in the job, the barrier says.
  }
  comm.barrier();
}

// In which ranks have the numbers that they have in the job.
void duplicate(const CommBackend& comm) {
  const auto twin = comm.duplicate();
  require(twin.size() == comm.size() && twin.rank() == comm.rank(), "duplicate");
  require(twin.allreduce(std::uint64_t{1}, ReduceOp::Sum) == twin.size(), "sum of a duplicate");
  comm.barrier();
}

// The ranks of one host: those of a set-up of two hosts are in two parts.
void node(const CommBackend& comm) {
  const auto node = comm.node();
  try {
    require(node.allreduce(std::uint64_t{1}, ReduceOp::Sum) == node.size(), "sum of a node");
  } catch (const cobre::comm::PeerFailed&) {
    // As above.
  }
  comm.barrier();
}

// Not of the library's own kind: a barrier is all that it can do.
void split_local(const CommBackend& comm) {
  const auto node = comm.split_local();
  require(node->rank() < node->size() && node->size() <= comm.size(), "split_local");
  try {
    node->barrier();
  } catch (const cobre::comm::PeerFailed&) {
    // As above.
  }
  comm.barrier();
}

std::size_t next_of(const CommBackend& comm) {
  return (comm.rank() + 1) % comm.size();
}
std::size_t previous_of(const CommBackend& comm) {
  return (comm.rank() + comm.size() - 1) % comm.size();
}

template <std::size_t Count>
void messages(const CommBackend& comm) {
  const std::size_t next = next_of(comm);
  const std::size_t previous = previous_of(comm);
  std::vector<std::uint64_t> data(Count);
  if (comm.rank() % 2 == 0) {
    comm.send(of_rank(comm, Count), next);
    comm.recv(data, previous);
  } else {
    comm.recv(data, previous);
    comm.send(of_rank(comm, Count), next);
  }
  require(all_are(data, previous), "message");
  comm.barrier();
}

template <std::size_t Count>
void sendrecv(const CommBackend& comm) {
  std::vector<std::uint64_t> data(Count);
  comm.sendrecv(of_rank(comm, Count), next_of(comm), data, previous_of(comm));
  require(all_are(data, previous_of(comm)), "sendrecv");
  comm.barrier();
}

template <std::size_t Count>
void messages_that_go_on(const CommBackend& comm) {
  const auto to = comm.channel(next_of(comm), 4);
  const auto from = comm.channel(previous_of(comm), 4);
  auto coming = from.irecv(std::vector<std::uint64_t>(Count));
  auto going = to.isend(of_rank(comm, Count));
  require(all_are(coming.get(), previous_of(comm)), "message that goes on");
  going.wait();
  comm.barrier();
}

void nonblocking_allreduce(const CommBackend& comm) {
  auto data = of_rank(comm, small);
  comm.iallreduce_inplace(data, ReduceOp::Sum).wait();
  require(all_are(data, sum_of_ranks(comm)), "nonblocking allreduce");
  comm.barrier();
}

// One after the other: where one ends by exception while others are under way that do not come, the job is ended.
void nonblocking_others(const CommBackend& comm) {
  const std::size_t root = comm.size() - 1;
  auto data = of_rank(comm, small);
  comm.ibroadcast(data, root).wait();
  require(all_are(data, root), "nonblocking broadcast");
  const auto mine = of_rank(comm, tiny);
  std::vector<std::uint64_t> all(comm.size());
  const std::vector<std::size_t> ones(comm.size(), tiny);
  std::vector<std::size_t> places;
  for (std::size_t rank = 0; rank < comm.size(); ++rank) places.push_back(rank);
  comm.iallgatherv(mine, all, ones, places).wait();
  for (std::size_t rank = 0; rank < comm.size(); ++rank) require(all[rank] == rank, "nonblocking allgatherv");
  comm.ibarrier().wait();
  comm.barrier();
}

// The same plan twice: the second round finds what the first has left.
void plan_of_allreduce(const CommBackend& comm) {
  const auto data = of_rank(comm, small);
  std::vector<std::uint64_t> sums(small);
  auto plan = comm.allreduce_init(data, sums, ReduceOp::Sum);
  for (int round = 0; round < 2; ++round) {
    plan.start();
    plan.wait();
    require(all_are(sums, sum_of_ranks(comm)), "plan");
  }
  comm.barrier();
}

void plans_of_others(const CommBackend& comm) {
  const std::size_t root = comm.size() - 1;
  std::vector<std::uint64_t> table(small);
  const auto mine = of_rank(comm, tiny);
  std::vector<std::uint64_t> all(comm.size());
  const std::vector<std::size_t> ones(comm.size(), tiny);
  std::vector<std::size_t> places;
  for (std::size_t rank = 0; rank < comm.size(); ++rank) places.push_back(rank);
  auto telling = comm.broadcast_init(table, root);
  auto gathering = comm.allgatherv_init(mine, all, ones, places);
  for (int round = 0; round < 2; ++round) {
    std::ranges::fill(table, comm.rank());
    telling.start();
    gathering.start();
    gathering.wait();
    telling.wait();
    require(all_are(table, root), "plan of a broadcast");
    for (std::size_t rank = 0; rank < comm.size(); ++rank) require(all[rank] == rank, "plan of an allgatherv");
  }
  comm.barrier();
}

void channels(const CommBackend& comm) {
  const std::size_t neighbour = comm.rank() ^ 1U;
  if (neighbour < comm.size()) {
    const auto channel = comm.channel(neighbour, 3);
    for (std::uint64_t round = 0; round < 3; ++round) {
      if (comm.rank() < neighbour) {
        channel.send(round);
        require(channel.template recv<std::uint64_t>() == round + 1, "answer");
      } else {
        channel.send(channel.template recv<std::uint64_t>() + 1);
      }
    }
  }
  comm.barrier();
}

constexpr Step program[] = {
    {"barrier", barrier},
    {"tiny broadcast", broadcast<tiny>},
    {"small broadcast", broadcast<small>},
    {"large broadcast", broadcast<large>},
    {"large broadcast_resized", broadcast_resized},
    {"tiny allreduce", allreduce<tiny>},
    {"small allreduce", allreduce<small>},
    {"large allreduce", allreduce<large>},
    {"large allreduce by a callable", allreduce_by_callable<large>},
    {"reproducible_sum", reproducible_sum},
    {"small allgather", allgather<small>},
    {"tiny allgatherv", allgatherv<tiny>},
    {"small allgatherv", allgatherv<small>},
    {"large allgatherv", allgatherv<large>},
    {"small gather and scatter", gather_and_scatter<small>},
    {"large gather and scatter", gather_and_scatter<large>},
    {"small gatherv and scatterv", gatherv_and_scatterv<small>},
    {"large gatherv and scatterv", gatherv_and_scatterv<large>},
    {"tiny alltoall", alltoall<tiny>},
    {"large alltoall", alltoall<large>},
    {"large alltoallv", alltoallv<large>},
    {"small reduce and scan", reduce_and_scan<small>},
    {"large reduce and scan", reduce_and_scan<large>},
    {"large exscan", exscan<large>},
    {"large reduce_scatter_block", reduce_scatter<large>},
    {"region", region},
    {"split", split},
    {"duplicate", duplicate},
    {"node", node},
    {"split_local", split_local},
    {"small messages", messages<small>},
    {"large messages", messages<large>},
    {"large sendrecv", sendrecv<large>},
    {"channels", channels},
    {"small messages that go on", messages_that_go_on<small>},
    {"nonblocking allreduce", nonblocking_allreduce},
    {"nonblocking broadcast, allgatherv and barrier", nonblocking_others},
    {"plan of allreduce", plan_of_allreduce},
    {"plans of broadcast and allgatherv", plans_of_others},
    {"last barrier", barrier},
};

}  // namespace

std::span<const Step> steps() {
  return program;
}

}  // namespace crash
