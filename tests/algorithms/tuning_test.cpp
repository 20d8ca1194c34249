// What the cost model chooses, and that it is measured alike on every rank.

#include <cmath>

#include "algorithms/worlds.hpp"

namespace cobre::comm::test {
namespace {

using algorithms::AllgathervAlgorithm;
using algorithms::AllreduceAlgorithm;
using algorithms::BroadcastAlgorithm;
using algorithms::choose_allgatherv;
using algorithms::choose_allreduce;
using algorithms::choose_broadcast;
using algorithms::choose_reduce;
using algorithms::choose_reduce_scatter;
using algorithms::choose_rooted;
using algorithms::choose_scan;
using algorithms::Costs;
using algorithms::is_exact;
using algorithms::ReduceAlgorithm;
using algorithms::ReduceScatterAlgorithm;
using algorithms::RootedAlgorithm;
using algorithms::ScanAlgorithm;
using algorithms::Tuning;

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

// Ethernet of 10 Gbit/s and TCP within one machine.
const Tuning ethernet{{.message = 15, .byte = 0.8e-3, .folded = 0.1e-3}, {}, {}, {}, {}, {}, {}, {}, {}};
const Tuning loopback{{.message = 3.5, .byte = 0.25e-3, .folded = 0.1e-3}, {}, {}, {}, {}, {}, {}, {}, {}};

TEST(Costs, ThatNothingCanHaveAreNotBelieved) {
  EXPECT_TRUE(is_sensible(Costs{}));
  EXPECT_TRUE(is_sensible(ethernet.costs));
  for (double Costs::*const one : {&Costs::message, &Costs::byte, &Costs::folded}) {
    for (const double nonsense : {std::nan(""), HUGE_VAL, -1.0, 0.0, 1e300, 1e-300}) {
      Costs costs;
      costs.*one = nonsense;
      EXPECT_FALSE(is_sensible(costs)) << nonsense;
    }
  }
}

// The first size, doubling, from which on another algorithm than recursive doubling is taken.
std::size_t end_of_doubling(std::size_t ranks, const Tuning& tuning) {
  std::size_t bytes = 8;
  while (choose_allreduce(ranks, bytes, false, tuning) == AllreduceAlgorithm::RecursiveDoubling) bytes *= 2;
  return bytes;
}

TEST(ChooseAllreduce, TakesRecursiveDoublingForShortMessagesOfAPowerOfTwo) {
  for (const std::size_t ranks : {2UL, 4UL, 8UL, 64UL}) {
    for (const std::size_t bytes : {1UL, 8UL, kibibyte}) {
      EXPECT_EQ(choose_allreduce(ranks, bytes, false, loopback), AllreduceAlgorithm::RecursiveDoubling) << ranks;
    }
  }
}

TEST(ChooseAllreduce, GathersWhereOneRankWouldHaveToTellManyOthers) {
  for (const std::size_t ranks : {17UL, 33UL}) {
    EXPECT_EQ(choose_allreduce(ranks, 8, false, loopback), AllreduceAlgorithm::GatherAndFold) << ranks;
  }
  EXPECT_NE(choose_allreduce(33, 16 * kibibyte, false, loopback), AllreduceAlgorithm::GatherAndFold);
}

TEST(ChooseAllreduce, HalvesMessagesOfMediumLength) {
  EXPECT_EQ(choose_allreduce(8, 128 * kibibyte, false, ethernet), AllreduceAlgorithm::Rabenseifner);
  EXPECT_EQ(choose_allreduce(6, 64 * kibibyte, false, ethernet), AllreduceAlgorithm::Rabenseifner);
}

TEST(ChooseAllreduce, SwitchesLaterWhereMessagesAreDearer) {
  EXPECT_GE(end_of_doubling(8, ethernet), 32 * kibibyte);
  EXPECT_LE(end_of_doubling(8, ethernet), 128 * kibibyte);
  Tuning slower = ethernet;
  slower.costs.message *= 16;
  EXPECT_GT(end_of_doubling(8, slower), end_of_doubling(8, ethernet));
}

TEST(ChooseAllreduce, MovesLongMessagesWithTheFewestBytes) {
  for (const std::size_t ranks : {3UL, 5UL, 6UL, 7UL, 9UL, 12UL}) {
    EXPECT_EQ(choose_allreduce(ranks, 64 * mebibyte, false, ethernet), AllreduceAlgorithm::Pairwise) << ranks;
    EXPECT_EQ(choose_allreduce(ranks, 64 * mebibyte, true, ethernet), AllreduceAlgorithm::Ring) << ranks;
  }
}

// As where the machine was busy with something else when they were measured.
TEST(ChooseAllreduce, MovesLongMessagesWithTheFewestBytesWhateverTheCostsSay) {
  Tuning absurd = loopback;
  absurd.costs.message = 1e6;
  EXPECT_EQ(choose_allreduce(7, 8 * mebibyte, false, absurd), AllreduceAlgorithm::Pairwise);
  const auto of_a_power_of_two = choose_allreduce(8, 8 * mebibyte, false, absurd);
  EXPECT_TRUE(of_a_power_of_two == AllreduceAlgorithm::Pairwise ||
              of_a_power_of_two == AllreduceAlgorithm::Rabenseifner);
}

TEST(ChooseAllreduce, NeverSumsFloatingPointRoundTheRing) {
  Tuning tuning;
  tuning.allreduce = AllreduceAlgorithm::Ring;
  EXPECT_EQ(choose_allreduce(4, 8, true, tuning), AllreduceAlgorithm::Ring);
  EXPECT_EQ(choose_allreduce(4, 8, false, tuning), AllreduceAlgorithm::Pairwise);
}

TEST(ChooseAllreduce, DoesAsDemanded) {
  for (const auto demanded : {AllreduceAlgorithm::RecursiveDoubling, AllreduceAlgorithm::GatherAndFold,
                              AllreduceAlgorithm::Rabenseifner, AllreduceAlgorithm::Pairwise}) {
    Tuning tuning;
    tuning.allreduce = demanded;
    EXPECT_EQ(choose_allreduce(5, 8, true, tuning), demanded);
    EXPECT_EQ(choose_allreduce(5, mebibyte, true, tuning), demanded);
  }
}

TEST(ChooseBroadcast, SendsOneMessageARankWhereFewRanksShareCores) {
  Tuning crowded = loopback;
  crowded.costs.shared_cores = 1;
  for (const std::size_t bytes : {8UL, kibibyte, 16 * kibibyte}) {
    EXPECT_EQ(choose_broadcast(4, bytes, crowded), BroadcastAlgorithm::Chain) << bytes;
    EXPECT_EQ(choose_broadcast(4, bytes, loopback), BroadcastAlgorithm::Binomial) << bytes;
  }
  EXPECT_EQ(choose_broadcast(8, 8, crowded), BroadcastAlgorithm::Binomial);
}

TEST(ChooseBroadcast, TakesTheTreeForShortMessagesAndForTwoRanks) {
  EXPECT_EQ(choose_broadcast(8, kibibyte, loopback), BroadcastAlgorithm::Binomial);
  EXPECT_EQ(choose_broadcast(2, 64 * mebibyte, loopback), BroadcastAlgorithm::Binomial);
}

TEST(ChooseBroadcast, ScattersMessagesOfMediumLengthAndGathersThemEverywhere) {
  for (const std::size_t ranks : {5UL, 8UL, 13UL}) {
    EXPECT_EQ(choose_broadcast(ranks, 128 * kibibyte, loopback), BroadcastAlgorithm::ScatterAllgather) << ranks;
    EXPECT_EQ(choose_broadcast(ranks, 256 * kibibyte, ethernet), BroadcastAlgorithm::ScatterAllgather) << ranks;
  }
  EXPECT_EQ(choose_broadcast(64, mebibyte, ethernet), BroadcastAlgorithm::ScatterAllgather);
}

TEST(ChooseBroadcast, PassesLongMessagesOnWhileTheyArrive) {
  EXPECT_EQ(choose_broadcast(4, 32 * mebibyte, loopback), BroadcastAlgorithm::Chain);
  EXPECT_EQ(choose_broadcast(9, 32 * mebibyte, ethernet), BroadcastAlgorithm::Chain);
}

TEST(ChooseAllgatherv, TakesBruckForShortMessagesOfManyAndTheRingOtherwise) {
  EXPECT_EQ(choose_allgatherv(8, 64, loopback), AllgathervAlgorithm::Bruck);
  EXPECT_EQ(choose_allgatherv(8, mebibyte, loopback), AllgathervAlgorithm::Ring);
  EXPECT_EQ(choose_allgatherv(2, 64, loopback), AllgathervAlgorithm::Ring);
}

TEST(ChooseAllgatherv, NeverTakesBruckForWhatScratchMemoryCannotHold) {
  Tuning far = loopback;
  far.costs.message = 1e6;
  EXPECT_EQ(choose_allgatherv(8, mebibyte, far), AllgathervAlgorithm::Bruck);
  EXPECT_EQ(choose_allgatherv(8, 100 * mebibyte, far), AllgathervAlgorithm::Ring);
}

TEST(ChooseRooted, TakesTheTreeForShortBlocksOfManyAndGoesStraightOtherwise) {
  EXPECT_EQ(choose_rooted(8, 64, loopback), RootedAlgorithm::Binomial);
  EXPECT_EQ(choose_rooted(64, 64, ethernet), RootedAlgorithm::Binomial);
  EXPECT_EQ(choose_rooted(8, mebibyte, loopback), RootedAlgorithm::Linear);
  EXPECT_EQ(choose_rooted(2, 64, loopback), RootedAlgorithm::Linear);
}

TEST(ChooseRooted, NeverTakesTheTreeForWhatScratchMemoryCannotHold) {
  Tuning far = loopback;
  far.costs.message = 1e6;
  EXPECT_EQ(choose_rooted(8, mebibyte, far), RootedAlgorithm::Binomial);
  EXPECT_EQ(choose_rooted(8, mebibyte + 1, far), RootedAlgorithm::Linear);
}

TEST(ChooseReduce, FoldsLongMessagesInSlices) {
  EXPECT_EQ(choose_reduce(8, 8, loopback), ReduceAlgorithm::Tree);
  EXPECT_EQ(choose_reduce(7, kibibyte, ethernet), ReduceAlgorithm::Tree);
  EXPECT_EQ(choose_reduce(8, 64 * mebibyte, loopback), ReduceAlgorithm::Pairwise);
  EXPECT_EQ(choose_reduce(7, 64 * mebibyte, ethernet), ReduceAlgorithm::Pairwise);
}

TEST(ChooseScanAndReduceScatter, CountMessagesWhereFewRanksShareCores) {
  Tuning shared = loopback;
  shared.costs.shared_cores = 1;
  for (const std::size_t ranks : {2UL, 3UL, 8UL, 9UL}) {
    const bool few = ranks > 2 && ranks <= 8;
    EXPECT_EQ(choose_scan(ranks, 8, shared), few ? ScanAlgorithm::Chain : ScanAlgorithm::RecursiveDoubling) << ranks;
    EXPECT_EQ(choose_reduce_scatter(ranks, 64, shared),
              few ? ReduceScatterAlgorithm::Tree : ReduceScatterAlgorithm::Pairwise)
        << ranks;
    EXPECT_EQ(choose_scan(ranks, 8, loopback), ScanAlgorithm::RecursiveDoubling) << ranks;
    EXPECT_EQ(choose_reduce_scatter(ranks, 64, loopback), ReduceScatterAlgorithm::Pairwise) << ranks;
  }
  EXPECT_EQ(choose_scan(4, mebibyte, shared), ScanAlgorithm::RecursiveDoubling);
  EXPECT_EQ(choose_reduce_scatter(4, mebibyte, shared), ReduceScatterAlgorithm::Pairwise);
}

TEST(PieceBytes, KeepTheScratchMemoryOfAReductionBounded) {
  for (const std::size_t ranks : {2UL, 9UL, 64UL, 500UL}) {
    Tuning far = ethernet;
    far.costs.message = 10'000;
    EXPECT_LE(reduction_piece_bytes(ranks, far) * ranks, 8 * mebibyte) << ranks;
    EXPECT_GT(reduction_piece_bytes(ranks, far), 0U);
  }
}

TEST(IsExact, IsEverythingButRounding) {
  EXPECT_TRUE(is_exact(ReduceOp::Sum, ElementType::Int32));
  EXPECT_TRUE(is_exact(ReduceOp::Prod, ElementType::UInt64));
  EXPECT_TRUE(is_exact(ReduceOp::Max, ElementType::Double));
  EXPECT_TRUE(is_exact(ReduceOp::BitwiseXor, ElementType::Byte));
  EXPECT_TRUE(is_exact(ReduceOp::MinLoc, ElementType::FloatIndex));
  EXPECT_FALSE(is_exact(ReduceOp::Sum, ElementType::Double));
  EXPECT_FALSE(is_exact(ReduceOp::Prod, ElementType::Float));
  EXPECT_FALSE(is_exact(ReduceOp::Sum, ElementType::ComplexDouble));
}

TEST(Calibrate, GivesEveryRankTheFiguresOfRankZero) {
  for (std::size_t ranks = 1; ranks <= 5; ++ranks) {
    std::vector<Costs> measured(ranks);
    ThreadNetwork network(ranks, 4096);
    network.run([&](auto& transport) {
      measured[transport.rank()] = algorithms::calibrate(transport);
      require(transport.messages <= 64, "it took " + std::to_string(transport.messages) + " messages");
    });
    for (const Costs& costs : measured) {
      EXPECT_EQ(costs.message, measured[0].message);
      EXPECT_EQ(costs.byte, measured[0].byte);
      EXPECT_EQ(costs.folded, measured[0].folded);
      EXPECT_TRUE(std::isfinite(costs.message) && costs.message > 0);
      EXPECT_TRUE(std::isfinite(costs.byte) && costs.byte > 0);
      EXPECT_TRUE(std::isfinite(costs.folded) && costs.folded > 0);
    }
  }
}

// A link that takes its time.
template <class Link>
struct Slow {
  Link& link;
  std::chrono::microseconds each;

  [[nodiscard]] std::size_t rank() const noexcept { return link.rank(); }
  [[nodiscard]] std::size_t size() const noexcept { return link.size(); }
  void send(std::size_t to, const void* out, std::size_t bytes) { link.send(to, out, bytes); }
  void recv(std::size_t from, void* in, std::size_t bytes) { link.recv(from, in, bytes); }
  void exchange(std::size_t to, const void* out, std::size_t out_bytes, std::size_t from, void* in,
                std::size_t in_bytes) {
    std::this_thread::sleep_for(each);
    link.exchange(to, out, out_bytes, from, in, in_bytes);
  }
};

TEST(Calibrate, MeasuresASlowLinkLessOften) {
  ThreadNetwork network(3, 4096);
  network.run([&](auto& transport) {
    Slow slow{transport, std::chrono::milliseconds(2)};
    const Costs costs = algorithms::calibrate(slow);
    require(costs.message >= 1000, "a message takes " + std::to_string(costs.message) + " us");
    if (transport.rank() == 0) {
      require(transport.messages <= 14, "it took " + std::to_string(transport.messages) + " messages");
    }
  });
}

}  // namespace
}  // namespace cobre::comm::test
