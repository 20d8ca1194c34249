// Every algorithm of allreduce, forced, at every number of ranks: the canonical bits from all.

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "algorithms/worlds.hpp"

namespace cobre::comm::test {
namespace {

using algorithms::AllreduceAlgorithm;
using algorithms::Scratch;
using algorithms::Tuning;
using detail::AllreduceCall;

constexpr std::array every_algorithm{AllreduceAlgorithm::RecursiveDoubling, AllreduceAlgorithm::GatherAndFold,
                                     AllreduceAlgorithm::Rabenseifner, AllreduceAlgorithm::Pairwise,
                                     AllreduceAlgorithm::Ring};

std::uint64_t noise(std::size_t rank, std::size_t index) {
  return detail::mix(detail::mix(rank) ^ index);
}

// Sums of these depend on every detail of their order: magnitudes far apart, cancellation, subnormals, signed zeros.
double nasty(std::size_t rank, std::size_t index) {
  const std::uint64_t bits = noise(rank, index);
  switch (bits % 8) {
    case 0: return std::ldexp(static_cast<double>(bits >> 12), -1074);
    case 1: return -0.0;
    case 2: return bits % 16 == 2 ? 1e300 : -1e300;
    case 3: return 1.0;
    default:
      return std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits)), static_cast<int>(bits % 119) - 120);
  }
}

// Neither commutes nor associates: any other tree than the canonical one, or any swap, gives another number.
std::uint64_t hash_pair(std::uint64_t left, std::uint64_t right) {
  return detail::mix(3 * left + 1) ^ (5 * right);
}

struct Large {
  std::array<std::uint64_t, 40> parts;
};
Large hash_pair(const Large& left, const Large& right) {
  Large result{};
  for (std::size_t i = 0; i < result.parts.size(); ++i) result.parts[i] = hash_pair(left.parts[i], right.parts[i]);
  return result;
}

template <class T>
T value_of(std::size_t rank, std::size_t index) {
  if constexpr (std::is_same_v<T, Large>) {
    Large value{};
    for (std::size_t i = 0; i < value.parts.size(); ++i) value.parts[i] = noise(rank, index * value.parts.size() + i);
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(nasty(rank, index));
  } else {
    return static_cast<T>(noise(rank, index));
  }
}

template <class T>
std::vector<T> values_of(std::size_t rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of<T>(rank, i);
  return values;
}

// The definition, without the library: rank i merges into i & (i - 1), lowest bits first, lower rank on the left.
template <class T, class Combine>
std::vector<T> expected_of(std::size_t ranks, std::size_t count, const Combine& combine) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<T> column;
    for (std::size_t rank = 0; rank < ranks; ++rank) column.push_back(value_of<T>(rank, i));
    for (std::size_t bit = 1; bit < ranks; bit *= 2) {
      for (std::size_t rank = 0; rank + bit < ranks; rank += 2 * bit) {
        column[rank] = combine(column[rank], column[rank + bit]);
      }
    }
    result[i] = column[0];
  }
  return result;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

std::string describe(const Tuning& tuning, std::size_t count, bool in_place) {
  return "algorithm " + (tuning.allreduce ? std::to_string(static_cast<int>(*tuning.allreduce)) : "as chosen") +
         ", pieces of " + std::to_string(tuning.piece_bytes.value_or(0)) + ", " + std::to_string(count) + " elements" +
         (in_place ? " in place" : "");
}

// One allreduce on this rank, into another buffer and in place, against what is expected.
template <class T, class Endpoint>
void check(Endpoint& transport, AllreduceCall call, const Tuning& tuning, Scratch& scratch,
           const std::vector<T>& expected) {
  for (const bool in_place : {false, true}) {
    std::vector<T> send = values_of<T>(transport.rank(), expected.size());
    std::vector<T> recv(expected.size());
    call.send = send.data();
    call.recv = in_place ? send.data() : recv.data();
    call.count = expected.size();
    call.element_size = sizeof(T);
    call.type = element_type_v<T>;
    algorithms::allreduce(transport, call, tuning, scratch);
    require(same_bits(in_place ? send : recv, expected), describe(tuning, expected.size(), in_place));
    if (!in_place) require(same_bits(send, values_of<T>(transport.rank(), expected.size())), "the input was changed");
  }
}

std::vector<Tuning> every_tuning() {
  std::vector<Tuning> all(1);
  for (const AllreduceAlgorithm algorithm : every_algorithm) {
    for (const std::size_t piece : {0UL, 40UL}) {
      Tuning tuning;
      tuning.allreduce = algorithm;
      if (piece > 0) tuning.piece_bytes = piece;
      all.push_back(tuning);
    }
  }
  return all;
}

// None, one, fewer than ranks, as many, more; and where elements are short, several pieces for every rank.
template <class T>
std::vector<std::size_t> counts() {
  return sizeof(T) > 40 ? std::vector<std::size_t>{1, 2, 9, 11} : std::vector<std::size_t>{0, 1, 2, 7, 9, 131};
}

class Allreduce : public EveryWorld {
 protected:
  template <class T, class Combine>
  static void check_everywhere(const AllreduceCall& call, const Combine& combine) {
    std::vector<std::vector<T>> expected;
    for (const std::size_t count : counts<T>()) expected.push_back(expected_of<T>(GetParam().ranks, count, combine));
    on_every_rank([&](auto& transport) {
      Scratch scratch;
      for (const Tuning& tuning : every_tuning()) {
        for (const auto& result : expected) check<T>(transport, call, tuning, scratch, result);
      }
    });
  }

  template <class T>
  static void check_callable_everywhere() {
    auto combine = [](const T& a, const T& b) { return hash_pair(a, b); };
    // Without state, so that all ranks may share it.
    detail::CallableFold<T, decltype(combine)> callable(combine);
    const detail::Fold fold = callable.fold();
    AllreduceCall call{};
    call.custom = &fold;
    call.thrown = &callable.error();
    check_everywhere<T>(call, combine);
  }
};

TEST_P(Allreduce, SumsAlongTheCanonicalTreeToTheBit) {
  AllreduceCall call{};
  call.op = ReduceOp::Sum;
  check_everywhere<double>(call, [](double a, double b) { return a + b; });
}

TEST_P(Allreduce, AppliesACallableThatNeitherCommutesNorAssociatesAlongTheCanonicalTree) {
  check_callable_everywhere<std::uint64_t>();
}

TEST_P(Allreduce, ReducesElementsLongerThanAPiece) {
  check_callable_everywhere<Large>();
}

TEST_P(Allreduce, SumsIntegersThatWrap) {
  AllreduceCall call{};
  call.op = ReduceOp::Sum;
  check_everywhere<std::uint16_t>(call,
                                  [](std::uint16_t a, std::uint16_t b) { return static_cast<std::uint16_t>(a + b); });
}

TEST_P(Allreduce, FindsTheLargestWithItsSignOfZero) {
  AllreduceCall call{};
  call.op = ReduceOp::Max;
  check_everywhere<float>(call, [](float a, float b) { return a == b ? (std::signbit(a) ? b : a) : std::max(a, b); });
}

TEST_P(Allreduce, AgreesWithTheFoldOfAllInputs) {
  const std::size_t ranks = GetParam().ranks;
  constexpr std::size_t count = 513;
  std::vector<std::vector<double>> inputs;
  std::vector<const void*> sources;
  for (std::size_t rank = 0; rank < ranks; ++rank) inputs.push_back(values_of<double>(rank, count));
  for (const auto& input : inputs) sources.push_back(input.data());
  std::vector<double> expected(count);
  detail::predefined_fold(ReduceOp::Prod, ElementType::Double).apply(expected.data(), sources.data(), ranks, count);
  for (double& value : expected) {
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  }
  on_every_rank([&](auto& transport) {
    Scratch scratch;
    for (const Tuning& tuning : every_tuning()) {
      std::vector<double> result(count);
      AllreduceCall call{};
      call.send = inputs[transport.rank()].data();
      call.recv = result.data();
      call.count = count;
      call.element_size = sizeof(double);
      call.type = ElementType::Double;
      call.op = ReduceOp::Prod;
      algorithms::allreduce(transport, call, tuning, scratch);
      for (double& value : result) {
        if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();  // payloads may differ
      }
      require(same_bits(result, expected), describe(tuning, count, false));
    }
  });
}

TEST_P(Allreduce, OfNothingLetsNobodyLeaveBeforeAllHaveCome) {
  std::atomic<std::size_t> entered = 0;
  on_every_rank([&](auto& transport) {
    Scratch scratch;
    AllreduceCall call{};
    call.element_size = 8;
    ++entered;
    algorithms::allreduce(transport, call, Tuning{}, scratch);
    require(entered == transport.size(), "a rank was still outside");
  });
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Allreduce, ::testing::ValuesIn(all_worlds()), name_of);

TEST(AllreduceOfACallable, ThatThrowsEndsOnThatRankBeforeItsResultIsSent) {
  for (const AllreduceAlgorithm algorithm : every_algorithm) {
    if (algorithm == AllreduceAlgorithm::Ring) continue;  // never for callables
    ThreadNetwork network(2, 256);
    std::atomic<int> left = 0;
    // Rank 0 fails; rank 1 gets no result from it where it needs one.
    EXPECT_THROW(network.run([&](auto& transport) {
      auto combine = [&](std::uint64_t a, std::uint64_t b) -> std::uint64_t {
        if (transport.rank() == 0) throw std::runtime_error("no");
        return a + b;
      };
      detail::CallableFold<std::uint64_t, decltype(combine)> callable(combine);
      const detail::Fold fold = callable.fold();
      std::array<std::uint64_t, 2> data{1, 2};
      Tuning tuning;
      tuning.allreduce = algorithm;
      Scratch scratch;
      const AllreduceCall call{data.data(),         data.data(), 2,     sizeof(std::uint64_t),
                               ElementType::UInt64, ReduceOp{},  &fold, Reproducible::Default,
                               &callable.error()};
      try {
        algorithms::allreduce(transport, call, tuning, scratch);
      } catch (const algorithms::ReductionThrew&) {
        ++left;
        require(transport.rank() == 0, "the callable threw on rank 0");
        throw;
      }
    }),
                 algorithms::ReductionThrew);
    EXPECT_EQ(left, 1);
  }
}

}  // namespace
}  // namespace cobre::comm::test
