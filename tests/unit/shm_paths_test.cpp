// Every algorithm that allreduce has, forced one after the other on the same nasty numbers: the same bits from all, on
// every rank, and those of the plain fold.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <span>
#include <vector>

#include "support/shm_ranks.hpp"

namespace {

using cobre::comm::ReduceOp;
using cobre::comm::ShmBackend;
using cobre::comm::ShmConfig;
using cobre::comm::SingleCopy;
using test::run_threads;
using test::shm_configs;

// Sums of these depend on every detail of their order: magnitudes far apart, cancellation, subnormals, signed zeros.
std::vector<double> nasty(std::size_t rank, std::size_t count) {
  std::mt19937_64 draw(1000 + rank);
  std::vector<double> values(count);
  for (double& value : values) {
    switch (draw() % 8) {
      case 0: value = std::ldexp(static_cast<double>(draw()), -1074 + 64); break;
      case 1: value = -0.0; break;
      case 2: value = 1e300 * (draw() % 2 == 0 ? 1 : -1); break;
      case 3: value = draw() % 50 == 0 ? std::numeric_limits<double>::infinity() : 1.0; break;
      default:
        value =
            std::ldexp(static_cast<double>(static_cast<std::int64_t>(draw())), static_cast<int>(draw() % 120) - 120);
    }
  }
  return values;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);  // infinities of both signs meet; payloads may differ
    if (!both_nan && std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i])) return false;
  }
  return a.size() == b.size();
}

struct Path {
  const char* name;
  std::function<void(ShmConfig&)> force;
};

const std::vector<Path>& paths() {
  static const std::vector<Path> all{
      {"as tuned", [](ShmConfig&) {}},
      {"one-shot", [](ShmConfig& c) { c.tuning.one_shot_bytes = 1 << 20; }},
      {"two-shot", [](ShmConfig& c) { c.tuning = {.one_shot_bytes = 0, .exposed_bytes = 1 << 20, .piece_bytes = {}}; }},
      {"from the buffers",
       [](ShmConfig& c) { c.tuning = {.one_shot_bytes = 0, .exposed_bytes = 0, .piece_bytes = 4096}; }},
      {"through rings",
       [](ShmConfig& c) {
         c.tuning = {.one_shot_bytes = 0, .exposed_bytes = 0, .piece_bytes = {}};
         c.single_copy = SingleCopy::Off;
       }},
      {"through tiny rings",
       [](ShmConfig& c) {
         c.tuning = {.one_shot_bytes = 0, .exposed_bytes = 0, .piece_bytes = {}};
         c.single_copy = SingleCopy::Off;
         c.segment_bytes = c.size * (std::size_t{48} << 10);
       }},
  };
  return all;
}

void expect_canonical_sum(std::size_t size, std::size_t count) {
  std::vector<std::vector<double>> inputs;
  std::vector<const void*> sources;
  for (std::size_t rank = 0; rank < size; ++rank) inputs.push_back(nasty(rank, count));
  for (const auto& input : inputs) sources.push_back(input.data());
  std::vector<double> expected(count);
  cobre::comm::detail::predefined_fold(ReduceOp::Sum, cobre::comm::ElementType::Double)
      .apply(expected.data(), sources.data(), size, count);
  for (const Path& path : paths()) {
    run_threads(shm_configs(size, path.force), [&](const ShmBackend& comm) {
      std::vector<double> result(count);
      comm.allreduce(inputs[comm.rank()], result, ReduceOp::Sum);
      EXPECT_TRUE(same_bits(result, expected)) << path.name << ", " << size << " ranks, " << count << " elements";
      result = inputs[comm.rank()];
      comm.allreduce_inplace(result, ReduceOp::Sum);
      EXPECT_TRUE(same_bits(result, expected)) << path.name << " in place, " << size << " ranks, " << count;
    });
  }
}

TEST(ShmPaths, OfAllreduceGiveTheSameBitsAtEverySizeAndRankCount) {
  for (const std::size_t size : {2U, 3U, 4U, 5U, 7U, 8U}) {
    for (const std::size_t count : {1U, 6U, 7U, 100U, 1023U, 9'000U, 40'001U}) expect_canonical_sum(size, count);
  }
}

TEST(ShmPaths, OfAllreduceGiveTheSameBitsWhereNoCacheHoldsTheResult) {
  for (const std::size_t size : {2U, 3U}) expect_canonical_sum(size, 540'001);
}

// So many ranks that a line for each of them does not fit into the smallest ring.
TEST(ShmPaths, OfManyRanksWithTinyRingsGiveTheSum) {
  const auto force = [](ShmConfig& c) {
    c.tuning = {.one_shot_bytes = 0, .exposed_bytes = 1 << 20, .piece_bytes = {}};
    c.single_copy = SingleCopy::Off;
    c.segment_bytes = c.size * (std::size_t{88} << 10);  // of which the pipes of all pairs take 54
  };
  run_threads(shm_configs(70, force), [&](const ShmBackend& comm) {
    std::vector<double> values(20);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(comm.rank() * i);
    comm.allreduce_inplace(values, ReduceOp::Sum);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<double>(69 * 70 / 2 * i));
  });
}

// Larger than any buffer of the backend: gathered and folded one by one.
struct Huge {
  std::array<std::uint64_t, 40'000> words;
};

TEST(ShmPaths, TakeElementsThatFitIntoNoBuffer) {
  for (const Path& path : paths()) {
    run_threads(shm_configs(3, path.force), [&](const ShmBackend& comm) {
      auto values = std::make_unique<std::array<Huge, 2>>();
      for (auto& value : *values) value.words.fill(comm.rank() + 1);
      comm.allreduce_inplace(*values, [](const Huge& a, const Huge& b) {
        Huge sum;
        for (std::size_t i = 0; i < sum.words.size(); ++i) sum.words[i] = 10 * a.words[i] + b.words[i];
        return sum;
      });
      for (const auto& value : *values) {
        EXPECT_EQ(value.words.front(), 123U) << path.name;
        EXPECT_EQ(value.words.back(), 123U) << path.name;
      }
    });
  }
}

TEST(ShmPaths, TakeOverAlignedElements) {
  struct alignas(64) Wide {
    double value;
  };
  for (const Path& path : paths()) {
    run_threads(shm_configs(3, path.force), [&](const ShmBackend& comm) {
      for (const std::size_t count : {1U, 50U, 3000U}) {
        std::vector<Wide> values(count, Wide{1.0});
        comm.allreduce_inplace(values, [](const Wide& a, const Wide& b) {
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a) % alignof(Wide), 0U);
          return Wide{a.value + b.value};
        });
        EXPECT_EQ(values.back().value, 3.0) << path.name;
      }
    });
  }
}

// Buffers of one rank in a region, of another not, of a third in a region that someone has let go already.
TEST(ShmPaths, ReadBuffersInRegionsWhereTheyLieAndOthersAsWell) {
  for (const auto single_copy : {SingleCopy::Auto, SingleCopy::Off}) {
    const auto force = [&](ShmConfig& c) {
      c.tuning = {.one_shot_bytes = 0, .exposed_bytes = 0, .piece_bytes = 4096};
      c.single_copy = single_copy;
    };
    run_threads(shm_configs(3, force), [&](const ShmBackend& comm) {
      constexpr std::size_t count = 20'000;
      auto kept = comm.create_shared_region<double>(3 * count);
      auto results = comm.create_shared_region<double>(3 * count);
      auto dropped = std::make_optional(comm.create_shared_region<double>(3 * count));
      const auto mine = kept.as_partition_span();
      const auto result = results.as_partition_span();
      std::ranges::fill(mine, 1.0 + static_cast<double>(comm.rank()));
      for (int round = 0; round < 3; ++round) {
        std::ranges::fill(result, 0.0);
        comm.allreduce(mine, result, ReduceOp::Sum);
        EXPECT_EQ(result.front(), 6.0);
        EXPECT_EQ(result.back(), 6.0);
        std::vector<double> own(count);
        comm.allreduce(mine, comm.rank() == 1 ? std::span<double>(own) : result, ReduceOp::Sum);
        EXPECT_EQ((comm.rank() == 1 ? std::span<double>(own) : result).back(), 6.0);
        std::vector<double> seen(count);
        comm.broadcast(comm.rank() == 2 ? mine : std::span<double>(seen), 2);
        EXPECT_EQ((comm.rank() == 2 ? mine : std::span<double>(seen)).back(), 3.0);
        const auto gathered = comm.allgatherv(mine);
        EXPECT_EQ(gathered.values[0], 1.0);
        EXPECT_EQ(gathered.values[3 * count - 1], 3.0);
      }
      if (comm.rank() != 0) dropped.reset();
      std::vector<double> seen(count);
      if (comm.rank() == 0) std::ranges::fill(dropped->as_partition_span(), 7.0);
      comm.broadcast(comm.rank() == 0 ? dropped->as_partition_span() : std::span<double>(seen), 0);
      EXPECT_EQ((comm.rank() == 0 ? dropped->as_partition_span() : std::span<double>(seen)).back(), 7.0);
    });
  }
}

TEST(ShmPaths, OfSingleCopyAreUsedBetweenProcessesUnlessSwitchedOff) {
  for (const auto wanted : {SingleCopy::Auto, SingleCopy::Off}) {
    const auto force = [&](ShmConfig& c) {
      c.single_copy = wanted;
      c.widen_ptrace = true;  // where only parents may look into their children, siblings may with this
    };
    auto ranks = test::start_ranks(shm_configs(3, force), [&](const ShmBackend& comm) -> std::string {
      std::vector<double> data(300'000, static_cast<double>(comm.rank()));
      std::vector<double> sum(data.size());
      comm.allreduce(data, sum, ReduceOp::Sum);
      if (sum.front() != 3.0 || sum.back() != 3.0) return "wrong sum";
      for (std::size_t root = 0; root < 3; ++root) {
        auto copy = data;
        comm.broadcast(copy, root);
        for (const double value : copy) {
          if (value != static_cast<double>(root)) return "wrong broadcast";
        }
      }
      return comm.uses_single_copy() ? "single copy" : "shared buffers";
    });
    for (auto& rank : ranks) EXPECT_EQ(rank.words(), wanted == SingleCopy::Auto ? "single copy" : "shared buffers");
  }
}

// Long parts are fetched while their owners copy them, piece by piece; here one is long, one short, and one has none.
TEST(ShmAllgatherv, OfLongAndShortPartsGivesEachItsPlace) {
  const std::vector<std::size_t> counts{700'001, 7, 0};
  const std::vector<std::size_t> displs{3, 700'100, 0};
  for (const std::size_t ranks : {2U, 3U}) {  // two have cores of their own where three may have none
    run_threads(shm_configs(ranks), [&](const ShmBackend& comm) {
      std::vector<double> gathered(700'110, -1.0);
      const std::vector<double> own(counts[comm.rank()], 1.0 + static_cast<double>(comm.rank()));
      comm.allgatherv(own, gathered, std::span(counts).first(ranks), std::span(displs).first(ranks));
      std::vector<double> expected(gathered.size(), -1.0);
      std::fill_n(expected.begin() + 3, counts[0], 1.0);
      std::fill_n(expected.begin() + 700'100, counts[1], 2.0);
      EXPECT_TRUE(gathered == expected) << ranks << " ranks";
    });
  }
}

TEST(ShmAlltoall, OfLongPartsGivesEachItsPlace) {
  constexpr std::size_t part = 530'001;  // more than 4 MiB, and no whole number of lines
  run_threads(shm_configs(2), [&](const ShmBackend& comm) {
    std::vector<double> send(2 * part);
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = static_cast<double>(4 * i + comm.rank());
    std::vector<double> recv(2 * part);
    comm.alltoall(send, recv);
    for (std::size_t i = 0; i < recv.size(); ++i) {
      ASSERT_EQ(recv[i], static_cast<double>(4 * (comm.rank() * part + i % part) + i / part)) << "element " << i;
    }
  });
}

}  // namespace
