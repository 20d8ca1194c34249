#include <cobre/comm/detail/exact_sum.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace cobre::comm::detail {
namespace {

constexpr int limb_bits = 32;
constexpr std::int64_t limb_mask = 0xffffffff;
constexpr int lowest_weight = -1088;  // of bit 0 of limb 0; a multiple of 32 below the smallest double, 2^-1074
constexpr int mantissa_bits = 53;

// An addition puts at most 53 bits into a limb, and one between two carries holds 32 already.
constexpr std::size_t additions_between_carries = 1000;

constexpr std::size_t most_of_few = 16;  // parts that a handful of numbers may leave

constexpr std::uint64_t exponent_mask = 0x7ff;
constexpr std::uint64_t fraction_mask = (std::uint64_t{1} << 52) - 1;

}  // namespace

void ExactSum::note_special(double value) noexcept {
  ++special_[std::isnan(value) ? 2U : value > 0 ? 0U : 1U];
}

inline void ExactSum::add_one(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t exponent = (bits >> 52) & exponent_mask;
  if (exponent == exponent_mask) [[unlikely]]
    return note_special(value);
  // A subnormal number has the weight of the smallest normal one, without its leading bit.
  const std::uint64_t is_normal = exponent != 0 ? 1 : 0;
  const std::uint64_t mantissa = (bits & fraction_mask) | is_normal << 52;
  const std::uint64_t place = exponent + (1 - is_normal) + static_cast<std::uint64_t>(-1075 - lowest_weight);
  const std::size_t limb = place / limb_bits;
  const std::uint64_t shift = place % limb_bits;
  const auto low = static_cast<std::int64_t>((mantissa << shift) & static_cast<std::uint64_t>(limb_mask));
  const auto high = static_cast<std::int64_t>(mantissa >> (limb_bits - shift));
  const std::int64_t sign = static_cast<std::int64_t>(bits) >> 63;  // 0 or -1: (x ^ sign) - sign is x or -x
  limbs_[limb] += (low ^ sign) - sign;
  limbs_[limb + 1] += (high ^ sign) - sign;
}

template <class T>
void ExactSum::add_all(std::span<const T> values) noexcept {
  while (!values.empty()) {
    const auto now = values.first(std::min(values.size(), additions_between_carries));
    for (const T value : now) add_one(static_cast<double>(value));
    carry(limbs_);
    values = values.subspan(now.size());
  }
}

void ExactSum::add(std::span<const double> values) noexcept {
  add_all(values);
}
void ExactSum::add(std::span<const float> values) noexcept {
  add_all(values);
}

// Every limb but the last ends in [0, 2^32): the last one alone has the sign.
void ExactSum::carry(Limbs& limbs) noexcept {
  std::int64_t over = 0;
  for (std::size_t i = 0; i + 1 < limb_count; ++i) {
    const std::int64_t sum = limbs[i] + over;
    limbs[i] = sum & limb_mask;
    over = sum >> limb_bits;
  }
  limbs[limb_count - 1] += over;
}

double ExactSum::rounded(Rounding rounding) const noexcept {
  const auto [positive, negative, nan] = special_;
  if (nan > 0 || (positive > 0 && negative > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (positive > 0) return std::numeric_limits<double>::infinity();
  if (negative > 0) return -std::numeric_limits<double>::infinity();

  // Sign and magnitude: of a negative number the two's complement, limb by limb.
  Limbs limbs = limbs_;
  const bool is_negative = limbs[limb_count - 1] < 0;
  if (is_negative) {
    for (auto& limb : limbs) limb = -limb;
    carry(limbs);
  }
  std::size_t top = limb_count;
  while (top > 0 && limbs[top - 1] == 0) --top;
  if (top == 0) return 0.0;
  const int highest = static_cast<int>(top - 1) * limb_bits +
                      static_cast<int>(std::bit_width(static_cast<std::uint64_t>(limbs[top - 1]))) - 1;
  const int smallest = -1074 - lowest_weight;  // where the doubles end; nothing was ever added below
  const int lowest = std::max(highest - (mantissa_bits - 1), smallest);

  // The bits that are kept, from `lowest` on, lie in three limbs at most.
  const auto limb_at = [&](std::size_t i) { return i < limb_count ? static_cast<std::uint64_t>(limbs[i]) : 0; };
  const auto first = static_cast<std::size_t>(lowest / limb_bits);
  const auto shift = static_cast<unsigned>(lowest % limb_bits);
  std::uint64_t kept = limb_at(first) >> shift | limb_at(first + 1) << (limb_bits - shift);
  if (shift > 0) kept |= limb_at(first + 2) << (2 * limb_bits - shift);
  // Of what is dropped: its first bit, and whether there is more.
  bool half = false;
  bool more = false;
  if (lowest > smallest) {
    const auto place = static_cast<std::size_t>(lowest - 1);
    const std::uint64_t dropped = limb_at(place / limb_bits);
    half = (dropped >> (place % limb_bits) & 1) != 0;
    more = (dropped & ((std::uint64_t{1} << (place % limb_bits)) - 1)) != 0;
    for (std::size_t i = place / limb_bits; i-- > 0 && !more;) more = limbs[i] != 0;
  }
  if (rounding == Rounding::ToNearest) {
    kept += half && (more || (kept & 1) != 0) ? 1 : 0;
  } else if (half || more) {
    kept |= 1;
  }
  const double result = std::ldexp(static_cast<double>(kept), lowest + lowest_weight);
  return is_negative ? -result : result;
}

double ExactSum::to_double() const noexcept {
  return rounded(Rounding::ToNearest);
}

// A number that was rounded to odd keeps the memory of what was cut off, so rounding it again to fewer bits is rounding
// once.
float ExactSum::to_float() const noexcept {
  return static_cast<float>(rounded(Rounding::ToOdd));
}

bool ExactSum::take_apart(std::span<double> parts) const noexcept {
  ExactSum rest = *this;
  for (double& part : parts) {
    part = rest.to_double();
    rest.add_one(-part);
    carry(rest.limbs_);
  }
  return rest.special_ == special_ && std::ranges::all_of(rest.limbs_, [](std::int64_t limb) { return limb == 0; });
}

ExactSum::Portable ExactSum::portable() const noexcept {
  Portable sum;
  std::ranges::copy(special_, std::ranges::copy(limbs_, sum.words.begin()).out);
  return sum;
}

ExactSum ExactSum::from(const Portable& sum) noexcept {
  ExactSum result;
  std::copy_n(sum.words.begin(), limb_count, result.limbs_.begin());
  std::copy_n(sum.words.begin() + limb_count, result.special_.size(), result.special_.begin());
  carry(result.limbs_);
  return result;
}

namespace {

// Of up to two numbers, beside zeros, the processor itself rounds the sum once; it knows infinities and NaNs too.
std::optional<double> sum_of_two(std::span<const double> values) noexcept {
  double sum = 0.0;
  std::size_t count = 0;
  for (const double value : values) {
    if (value == 0.0) continue;
    if (++count > 2) return std::nullopt;
    sum += value;
  }
  return sum;
}

}  // namespace

// Keeps numbers that do not overlap, in growing size, whose sum is that of all numbers so far: adding one more leaves,
// with each of them, a rounded sum and what the rounding lost.
template <class T>
std::optional<T> sum_of_few(std::span<const double> values) noexcept {
  if constexpr (std::is_same_v<T, double>) {
    if (const auto sum = sum_of_two(values)) return sum;
  }
  std::array<double, most_of_few> parts;
  std::size_t count = 0;
  for (double value : values) {
    if (value == 0.0) continue;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double sum = value + parts[i];
      const double lost = std::abs(value) < std::abs(parts[i]) ? value - (sum - parts[i]) : parts[i] - (sum - value);
      if (lost != 0.0) parts[kept++] = lost;
      value = sum;
    }
    if (!std::isfinite(value) || kept == parts.size()) return std::nullopt;
    parts[kept++] = value;
    count = kept;
  }
  if (count == 0) return T{0};
  // From the largest down until one does not fit any more; those below it only decide a tie.
  double result = parts[--count];
  double lost = 0.0;
  while (count > 0 && lost == 0.0) {
    const double before = result;
    const double part = parts[--count];
    result = before + part;
    lost = part - (result - before);
  }
  if constexpr (std::is_same_v<T, float>) {
    // To odd, for the same reason as in to_float(): of the two doubles around the sum, the one that is not even.
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const bool is_even = (std::bit_cast<std::uint64_t>(result) & 1) == 0;
    if (lost != 0.0 && is_even) result = std::nextafter(result, lost < 0 ? -infinity : infinity);
  } else if (count > 0 && ((lost < 0) == (parts[count - 1] < 0)) && lost != 0.0) {
    const double other = result + 2 * lost;
    if (other - result == 2 * lost) result = other;
  }
  return static_cast<T>(result);
}

template std::optional<double> sum_of_few(std::span<const double>) noexcept;
template std::optional<float> sum_of_few(std::span<const double>) noexcept;

}  // namespace cobre::comm::detail
