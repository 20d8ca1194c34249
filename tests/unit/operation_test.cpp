#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>

#include "comm/core/chain.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::detail;

constexpr OperationRecord sample{.operation = Operation::Allreduce,
                                 .reduction = static_cast<std::uint8_t>(ReduceOp::Sum),
                                 .type = ElementType::Double,
                                 .element_size = 8,
                                 .count = 100,
                                 .root = 0,
                                 .sequence = 42};

std::vector<std::pair<OperationRecord, std::string>> variations() {
  std::vector<std::pair<OperationRecord, std::string>> all(9, {sample, ""});
  all[0] = {sample, ""};
  all[0].first.operation = Operation::Broadcast, all[0].second = "operation";
  all[1].first.reduction = static_cast<std::uint8_t>(ReduceOp::Max), all[1].second = "op";
  all[2].first.reduction = callable_reduction, all[2].second = "op";
  all[3].first.type = ElementType::Int64, all[3].second = "type";
  all[4].first.element_size = 16, all[4].second = "type";
  all[5].first.count = 101, all[5].second = "count";
  all[6].first.root = 1, all[6].second = "root";
  all[7].first.sequence = 43, all[7].second = "sequence";
  all[8].first.reproducible = 1, all[8].second = "reproducible";
  return all;
}

TEST(OperationRecord, IsExchangedAsItIs) {
  static_assert(std::is_trivially_copyable_v<OperationRecord> && sizeof(OperationRecord) == 32);
  static_assert(std::has_unique_object_representations_v<OperationRecord>, "no padding");
}

TEST(OperationRecord, NamesTheFieldThatDiffers) {
  EXPECT_EQ(differing_field(sample, sample), nullptr);
  for (const auto& [record, field] : variations()) EXPECT_EQ(differing_field(sample, record), field);
  OperationRecord a{.operation = Operation::Allgatherv, .count = 1};
  OperationRecord b{.operation = Operation::Allgatherv, .count = 2};
  EXPECT_STREQ(differing_field(a, b), "counts");
}

// What ranks compare of a record: 64 bits, in which all that they called before is mixed.
TEST(Chain, DiffersWhereverARecordDiffersButInItsNumber) {
  std::set<std::uint64_t> seen{core::extend(7, sample)};
  for (const auto& [record, field] : variations()) {
    EXPECT_EQ(seen.insert(core::extend(7, record)).second, field != "sequence") << field;
  }
  EXPECT_EQ(core::extend(7, sample), core::extend(7, OperationRecord(sample)));
}

TEST(Chain, DiffersWhereWhatCameBeforeDiffersOrCameInAnotherOrder) {
  auto other = sample;
  other.root = 1;
  const auto after = [](auto... records) {
    std::uint64_t chain = 0;
    ((chain = core::extend(chain, records)), ...);
    return chain;
  };
  const std::set<std::uint64_t> chains{after(),
                                       after(sample),
                                       after(sample, sample),
                                       after(other, sample),
                                       after(sample, other),
                                       after(sample, sample, sample),
                                       after(other, sample, sample)};
  EXPECT_EQ(chains.size(), 7U);
}

TEST(Chain, SpreadsEveryBitOfARecordAndOfWhatCameBefore) {
  const auto flipped = [](int bits, auto&& change) {
    double sum = 0;
    for (int bit = 0; bit < bits; ++bit) {
      std::uint64_t before = 7;
      auto changed = sample;
      change(std::uint64_t{1} << bit, changed, before);
      sum += std::popcount(core::extend(before, changed) ^ core::extend(7, sample));
    }
    return sum / bits;
  };
  EXPECT_NEAR(flipped(64, [](auto bit, auto& record, auto&) { record.count ^= bit; }), 32, 3);
  EXPECT_NEAR(flipped(64, [](auto bit, auto& record, auto&) { record.root ^= bit; }), 32, 3);
  EXPECT_NEAR(
      flipped(32, [](auto bit, auto& record, auto&) { record.element_size ^= static_cast<std::uint32_t>(bit); }), 32,
      3);
  EXPECT_NEAR(flipped(64, [](auto bit, auto&, auto& before) { before ^= bit; }), 32, 3);
}

TEST(OperationRecord, HashOfCountsDependsOnOrderAndLength) {
  using Sizes = std::vector<std::size_t>;
  const std::set<std::uint64_t> hashes{hash_counts(Sizes{}), hash_counts(Sizes{0}), hash_counts(Sizes{0, 0}),
                                       hash_counts(Sizes{1, 2}), hash_counts(Sizes{2, 1})};
  EXPECT_EQ(hashes.size(), 5U);
}

}  // namespace
