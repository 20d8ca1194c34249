// How much every rank sends and receives, counted at the transport; and how much memory that takes beside the buffers.

#include <bit>
#include <numeric>

#include "algorithms/worlds.hpp"

namespace cobre::comm::test {
namespace {

using algorithms::AllgathervAlgorithm;
using algorithms::AllreduceAlgorithm;
using algorithms::BroadcastAlgorithm;
using algorithms::ReduceAlgorithm;
using algorithms::RootedAlgorithm;
using algorithms::Scratch;
using algorithms::Tuning;

class Traffic : public ::testing::TestWithParam<std::size_t> {
 protected:
  template <class Body>
  static void on_every_rank(Body&& body) {
    ThreadNetwork network(GetParam(), 4096);
    network.run(body);
  }

  static constexpr std::size_t count = std::size_t{1} << 17;
  static constexpr std::size_t bytes = count * sizeof(double);

  // The same data serves all ranks and all results: what is counted does not depend on it.
  template <class Endpoint>
  static void allreduce_long(Endpoint& transport, ReduceOp op, const Tuning& tuning, Scratch& scratch) {
    const std::vector<double> send(count, 1.0);
    std::vector<double> recv(count);
    algorithms::allreduce(transport, call_of<detail::AllreduceCall>(send, recv, count, op), tuning, scratch);
  }

  template <class Call>
  static Call call_of(const std::vector<double>& send, std::vector<double>& recv, std::size_t elements, ReduceOp op) {
    Call call{};
    call.send = send.data();
    call.recv = recv.data();
    call.count = elements;
    call.element_size = sizeof(double);
    call.type = ElementType::Double;
    call.op = op;
    return call;
  }

  static void expect_within_five_percent(std::size_t actual, double ideal, const std::string& what) {
    require(static_cast<double>(actual) <= 1.05 * ideal,
            what + ": " + std::to_string(actual) + " bytes instead of " + std::to_string(ideal));
  }
};

TEST_P(Traffic, OfALongAllreduceIsLeastAtEveryNumberOfRanks) {
  const auto ranks = static_cast<double>(GetParam());
  const double ideal = 2 * (ranks - 1) / ranks * bytes;
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Max}) {
    on_every_rank([&](auto& transport) {
      Scratch scratch;
      allreduce_long(transport, op, Tuning{}, scratch);
      expect_within_five_percent(transport.sent, ideal, "sent");
      expect_within_five_percent(transport.received, ideal, "received");
    });
  }
}

TEST_P(Traffic, OfARabenseifnerAllreduceIsAtMostTwiceTheMessage) {
  on_every_rank([&](auto& transport) {
    Tuning tuning;
    tuning.allreduce = AllreduceAlgorithm::Rabenseifner;
    Scratch scratch;
    allreduce_long(transport, ReduceOp::Sum, tuning, scratch);
    require(transport.sent <= 2 * bytes, "sent " + std::to_string(transport.sent));
    if (std::has_single_bit(transport.size())) {
      const std::size_t others = bytes / transport.size() * (transport.size() - 1);
      require(transport.sent == 2 * others, "sent " + std::to_string(transport.sent));
    }
  });
}

TEST_P(Traffic, OfAnAllgathervIsWhatARankDoesNotHave) {
  for (const AllgathervAlgorithm algorithm : {AllgathervAlgorithm::Ring, AllgathervAlgorithm::Bruck}) {
    on_every_rank([&](auto& transport) {
      const std::size_t ranks = transport.size();
      std::vector<std::size_t> counts(ranks);
      std::vector<std::size_t> displs(ranks);
      for (std::size_t r = 0; r < ranks; ++r) {
        counts[r] = 1000 + 17 * (r % 3);
        displs[r] = 1100 * r;
      }
      std::vector<double> recv(1100 * ranks);
      const std::vector<double> send(counts[transport.rank()]);
      Tuning tuning;
      tuning.allgatherv = algorithm;
      Scratch scratch;
      algorithms::allgatherv(transport, detail::AllgathervCall{send.data(), recv.data(), counts, displs, 8}, tuning,
                             scratch);
      const std::size_t missing =
          8 * (std::accumulate(counts.begin(), counts.end(), std::size_t{0}) - counts[transport.rank()]);
      require(transport.received == missing, "received " + std::to_string(transport.received));
      expect_within_five_percent(transport.sent, static_cast<double>(missing), "sent");
    });
  }
}

TEST_P(Traffic, OfALongBroadcastIsAboutOnceTheMessage) {
  for (const BroadcastAlgorithm algorithm : {BroadcastAlgorithm::Chain, BroadcastAlgorithm::ScatterAllgather}) {
    on_every_rank([&](auto& transport) {
      std::vector<double> data(count);
      Tuning tuning;
      tuning.broadcast = algorithm;
      algorithms::broadcast(transport, detail::BroadcastCall{data.data(), bytes, 0}, tuning);
      // The root of a scatter also deals out what the others pass on.
      const std::size_t most = algorithm == BroadcastAlgorithm::Chain ? bytes : 2 * bytes;
      require(transport.sent <= most, "sent " + std::to_string(transport.sent));
    });
  }
}

TEST_P(Traffic, OfALongReduceIsTheMessageOnce) {
  on_every_rank([&](auto& transport) {
    const std::vector<double> send(count, 1.0);
    std::vector<double> recv(count);
    auto call = call_of<detail::ReduceCall>(send, recv, count, ReduceOp::Sum);
    call.root = transport.size() - 1;
    Scratch scratch;
    algorithms::reduce(transport, call, Tuning{}, scratch);
    expect_within_five_percent(transport.sent, bytes, "sent");
  });
}

TEST_P(Traffic, OfAnAlltoallAndAReduceScatterIsWhatIsForOthers) {
  on_every_rank([&](auto& transport) {
    const std::size_t ranks = transport.size();
    const std::size_t block = 1000;
    const std::vector<double> send(block * ranks, 1.0);
    std::vector<double> recv(block * ranks);
    const detail::Parts blocks(block);
    algorithms::alltoall(transport, detail::AlltoallCall{send.data(), blocks, recv.data(), blocks, sizeof(double)});
    require(transport.sent == (ranks - 1) * block * sizeof(double), "alltoall sent " + std::to_string(transport.sent));
    Scratch scratch;
    algorithms::reduce_scatter(transport, call_of<detail::ReduceScatterCall>(send, recv, block, ReduceOp::Sum),
                               Tuning{}, scratch);
    require(transport.sent == 2 * (ranks - 1) * block * sizeof(double), "both sent " + std::to_string(transport.sent));
  });
}

TEST_P(Traffic, OfAGatherAndAScatterGoesStraightOrUpATree) {
  for (const RootedAlgorithm algorithm : {RootedAlgorithm::Linear, RootedAlgorithm::Binomial}) {
    on_every_rank([&](auto& transport) {
      const std::size_t ranks = transport.size();
      std::vector<double> all(ranks);
      double mine = 1;
      Tuning tuning;
      tuning.rooted = algorithm;
      Scratch scratch;
      algorithms::gather(transport, detail::GatherCall{&mine, 1, all.data(), detail::Parts(1), sizeof mine, 0}, tuning,
                         scratch);
      require(transport.messages == (transport.rank() == 0 ? 0 : 1), "gather: " + std::to_string(transport.messages));
      algorithms::scatter(transport, detail::ScatterCall{all.data(), detail::Parts(1), &mine, 1, sizeof mine, 0},
                          tuning, scratch);
      const auto steps = static_cast<std::size_t>(std::bit_width(ranks - 1));
      if (transport.rank() == 0) {
        require(transport.messages == (algorithm == RootedAlgorithm::Linear ? ranks - 1 : steps),
                "scatter: " + std::to_string(transport.messages));
      }
    });
  }
}

TEST_P(Traffic, TakesAsManyMessagesAsTheNumberOfRanksHasBits) {
  on_every_rank([&](auto& transport) {
    const auto steps = static_cast<std::size_t>(std::bit_width(transport.size() - 1));
    algorithms::barrier(transport);
    require(transport.messages == steps, "barrier: " + std::to_string(transport.messages));
    Tuning tuning;
    tuning.allreduce = AllreduceAlgorithm::GatherAndFold;
    Scratch scratch;
    std::vector<double> value(1);
    const auto sum = call_of<detail::AllreduceCall>(value, value, 1, ReduceOp::Sum);
    algorithms::allreduce(transport, sum, tuning, scratch);
    require(transport.messages == 2 * steps, "allreduce: " + std::to_string(transport.messages - steps));
    std::vector<double> upto(1);
    algorithms::scan(transport, call_of<detail::ScanCall>(value, upto, 1, ReduceOp::Sum), tuning, scratch);
    require(transport.messages <= 3 * steps, "scan: " + std::to_string(transport.messages - 2 * steps));
  });
}

TEST_P(Traffic, IsLeastWhereRanksThatShareCoresSayLittle) {
  on_every_rank([&](auto& transport) {
    const std::size_t ranks = transport.size();
    const std::size_t rank = transport.rank();
    Tuning tuning;
    tuning.costs.shared_cores = 1;
    Scratch scratch;
    const std::vector<double> send(ranks, 1.0);
    std::vector<double> recv(1);
    algorithms::scan(transport, call_of<detail::ScanCall>(send, recv, 1, ReduceOp::Sum), tuning, scratch);
    if (ranks <= 8) require(transport.messages == (rank + 1 < ranks ? 1 : 0), "scan");
    const std::size_t before = transport.messages;
    algorithms::reduce_scatter(transport, call_of<detail::ReduceScatterCall>(send, recv, 1, ReduceOp::Sum), tuning,
                               scratch);
    const bool few = ranks > 2 && ranks <= 8;
    require(transport.messages - before == (few && rank > 0 ? 1 : ranks - 1), "reduce_scatter");
  });
}

TEST_P(Traffic, PassesThroughABoundedScratchMemory) {
  for (const AllreduceAlgorithm algorithm :
       {AllreduceAlgorithm::RecursiveDoubling, AllreduceAlgorithm::GatherAndFold, AllreduceAlgorithm::Rabenseifner,
        AllreduceAlgorithm::Pairwise, AllreduceAlgorithm::Ring}) {
    on_every_rank([&](auto& transport) {
      Tuning tuning;
      tuning.allreduce = algorithm;
      tuning.piece_bytes = 16384;
      Scratch scratch;
      allreduce_long(transport, ReduceOp::Max, tuning, scratch);
      require(scratch.bytes() <= transport.size() * 16384, "scratch of " + std::to_string(scratch.bytes()));
      const std::byte* const memory = scratch.memory(1);
      allreduce_long(transport, ReduceOp::Max, tuning, scratch);
      require(scratch.memory(1) == memory, "the second time memory was allocated again");
    });
  }
}

TEST_P(Traffic, OfReductionsForSomePassesThroughABoundedScratchMemory) {
  on_every_rank([&](auto& transport) {
    const std::vector<double> send(count, 1.0);
    std::vector<double> recv(count);
    Tuning tuning;
    tuning.piece_bytes = 16384;
    Scratch scratch;
    for (const ReduceAlgorithm algorithm : {ReduceAlgorithm::Tree, ReduceAlgorithm::Pairwise}) {
      tuning.reduce = algorithm;
      auto reduce = call_of<detail::ReduceCall>(send, recv, count, ReduceOp::Sum);
      reduce.root = 1;
      algorithms::reduce(transport, reduce, tuning, scratch);
    }
    algorithms::scan(transport, call_of<detail::ScanCall>(send, recv, count, ReduceOp::Sum), tuning, scratch);
    const std::size_t block = count / transport.size();
    algorithms::reduce_scatter(transport, call_of<detail::ReduceScatterCall>(send, recv, block, ReduceOp::Sum), tuning,
                               scratch);
    require(scratch.bytes() <= transport.size() * 16384, "scratch of " + std::to_string(scratch.bytes()));
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Traffic, ::testing::Values(2, 3, 4, 5, 6, 7, 8, 9),
                         [](const auto& world) { return std::to_string(world.param) + "_ranks"; });

}  // namespace
}  // namespace cobre::comm::test
