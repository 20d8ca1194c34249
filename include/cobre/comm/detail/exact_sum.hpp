// A sum of floating-point numbers without rounding, so that neither their order nor who adds which of them matters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace cobre::comm::detail {

/// A fixed-point number wide enough for every double: limb i weighs 2^(32 i - 1088). A limb holds more than its 32 bits
/// between two carries. Adding limb by limb adds the numbers, in any order, so an integer sum over ranks is one over
/// accumulators.
class ExactSum {
 public:
  // The highest bit of a double is 2^1023, and 2^64 of them may be added.
  static constexpr std::size_t limb_count = 68;

  void add(std::span<const double> values) noexcept;
  void add(std::span<const float> values) noexcept;

  /// The sum, rounded once: to the nearest, ties to even. Infinity where it is beyond the type; NaN where a NaN, or
  /// infinities of both signs, were added.
  [[nodiscard]] double to_double() const noexcept;
  [[nodiscard]] float to_float() const noexcept;
  template <class T>
  [[nodiscard]] T to() const noexcept {
    if constexpr (std::is_same_v<T, float>) {
      return to_float();
    } else {
      return to_double();
    }
  }

  /// Takes the sum apart into numbers that add up to it exactly; false where that takes more of them than there is room
  /// for. What is left over is zero.
  [[nodiscard]] bool take_apart(std::span<double> parts) const noexcept;

  /// For sums over ranks: integers whose sums, word by word, describe the sum of the numbers.
  struct Portable {
    std::array<std::int64_t, limb_count + 3> words;  // the limbs, and how many infinities and NaNs were met
  };
  [[nodiscard]] Portable portable() const noexcept;
  [[nodiscard]] static ExactSum from(const Portable& sum) noexcept;

 private:
  enum class Rounding { ToNearest, ToOdd };

  using Limbs = std::array<std::int64_t, limb_count>;

  template <class T>
  void add_all(std::span<const T> values) noexcept;
  void add_one(double value) noexcept;
  void note_special(double value) noexcept;
  static void carry(Limbs& limbs) noexcept;
  [[nodiscard]] double rounded(Rounding rounding) const noexcept;

  Limbs limbs_{};
  std::array<std::int64_t, 3> special_{};  // how many of +infinity, -infinity, NaN
};

/// The same for a handful of numbers, rounded once to a `double` or `float`, which is faster than clearing a long
/// accumulator. Nothing where they are too many, or too large: then the accumulator knows.
template <class T>
[[nodiscard]] std::optional<T> sum_of_few(std::span<const double> values) noexcept;
extern template std::optional<double> sum_of_few(std::span<const double>) noexcept;
extern template std::optional<float> sum_of_few(std::span<const double>) noexcept;

}  // namespace cobre::comm::detail
