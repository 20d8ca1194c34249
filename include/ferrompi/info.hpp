// Hints for the MPI library: keys and values, both text.
#pragma once

#include <ferrompi/detail/mpi.hpp>

#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferrompi {

/// Move-only; a copy is spelled `duplicate()`. Nothing here is collective. Keys and values that the library would cut
/// are refused: MpiError with ErrorClass::InfoKey or ErrorClass::InfoValue.
class [[nodiscard]] Info {
 public:
  class Iterator;

  /// The longest key and value that this MPI library keeps whole.
  static constexpr std::size_t max_key_length = MPI_MAX_INFO_KEY - 1;
  static constexpr std::size_t max_value_length = MPI_MAX_INFO_VAL - 1;

  /// Empty, and open for `set`.
  Info();
  Info(std::initializer_list<std::pair<std::string_view, std::string_view>> entries);
  /// MPI_INFO_NULL: no hints, for good. Looks empty; `set` refuses.
  [[nodiscard]] static Info null() noexcept { return Info(MPI_INFO_NULL); }
  /// Takes over a handle that the caller made.
  [[nodiscard]] static Info adopt(MPI_Info native) noexcept { return Info(native); }

  Info(Info&& other) noexcept : native_(std::exchange(other.native_, MPI_INFO_NULL)) {}
  Info& operator=(Info&& other) noexcept;
  ~Info() { release(); }

  /// Adds the key, or replaces its value.
  void set(std::string_view key, std::string_view value);
  /// The whole value, whatever its length.
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const;
  [[nodiscard]] bool contains(std::string_view key) const;
  /// Whether there was such a key.
  bool erase(std::string_view key);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::vector<std::string> keys() const;
  /// Iterates over pairs of key and value, as copies. Do not add or erase keys meanwhile.
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

  /// A copy of its own; of a null Info, a null Info.
  [[nodiscard]] Info duplicate() const;

  [[nodiscard]] bool is_null() const noexcept { return native_ == MPI_INFO_NULL; }
  [[nodiscard]] MPI_Info native() const noexcept { return native_; }

 private:
  explicit Info(MPI_Info native) noexcept : native_(native) {}
  void release() noexcept;
  [[nodiscard]] std::string key_at(std::size_t index) const;

  MPI_Info native_;
};

class Info::Iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = std::pair<std::string, std::string>;
  using difference_type = std::ptrdiff_t;

  Iterator() = default;
  [[nodiscard]] value_type operator*() const;
  Iterator& operator++() {
    ++index_;
    return *this;
  }
  Iterator operator++(int) {
    auto before = *this;
    ++index_;
    return before;
  }
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  friend class Info;
  Iterator(const Info* info, std::size_t index) : info_(info), index_(index) {}

  const Info* info_ = nullptr;
  std::size_t index_ = 0;
};

}  // namespace ferrompi
