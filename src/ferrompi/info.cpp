#include <ferrompi/info.hpp>

#include <ferrompi/detail/runtime.hpp>
#include <ferrompi/error.hpp>

#include "ferrompi/text.hpp"

#include <array>

namespace ferrompi {

namespace {

// A C string with room for the longest key or value and its terminator, so that no call here allocates for one.
template <std::size_t Max>
class CString {
 public:
  CString(std::string_view text, const char* operation, const char* what, ErrorClass error_class) {
    if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
      refuse(operation, error_class, detail::text_of("the ", what, " has a NUL character at position ", nul));
    }
    if (text.size() > Max) {
      refuse(
          operation, error_class,
          detail::text_of("the ", what, " has ", text.size(), " characters, but this MPI library keeps at most ", Max));
    }
    text_[text.copy(text_.data(), Max)] = '\0';
  }
  [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }

 private:
  [[noreturn]] static void refuse(const char* operation, ErrorClass error_class, const std::string& message) {
    throw MpiError(operation, error_class, message);
  }

  std::array<char, Max + 1> text_;
};

struct Key : CString<Info::max_key_length> {
  Key(std::string_view key, const char* operation) : CString(key, operation, "info key", ErrorClass::InfoKey) {
    if (key.empty()) throw MpiError(operation, ErrorClass::InfoKey, "the info key is empty");
  }
};

struct Value : CString<Info::max_value_length> {
  Value(std::string_view value, const char* operation)
      : CString(value, operation, "info value", ErrorClass::InfoValue) {
    if (value.empty() && !detail::info_values_may_be_empty) {
      throw MpiError(operation, ErrorClass::InfoValue,
                     "the info value is empty, which this MPI library does not keep: erase the key instead");
    }
  }
};

// Length without terminator, or nothing where the key is absent.
std::optional<int> value_length(MPI_Info info, const Key& key, const char* operation) {
  int length = 0;
  int found = 0;
#if MPI_VERSION >= 4
  char unused = '\0';  // nothing is written where the length is 0, but MPICH refuses a null pointer all the same
  detail::check(MPI_Info_get_string(info, key.c_str(), &length, &unused, &found), operation);
  --length;  // that call counts the terminator
#else
  detail::check(MPI_Info_get_valuelen(info, key.c_str(), &length, &found), operation);
#endif
  if (found == 0) return std::nullopt;
  return length;
}

}  // namespace

Info::Info() : native_(MPI_INFO_NULL) {
  detail::attach("Info");
  const detail::CallGuard guard("Info");
  detail::check(MPI_Info_create(&native_), "Info");
}

Info::Info(std::initializer_list<std::pair<std::string_view, std::string_view>> entries) : Info() {
  for (const auto& [key, value] : entries) set(key, value);
}

Info& Info::operator=(Info&& other) noexcept {
  if (this != &other) {
    release();
    native_ = std::exchange(other.native_, MPI_INFO_NULL);
  }
  return *this;
}

void Info::release() noexcept {
  if (native_ != MPI_INFO_NULL && detail::mpi_is_usable()) MPI_Info_free(&native_);
  native_ = MPI_INFO_NULL;
}

void Info::set(std::string_view key, std::string_view value) {
  const Key checked_key(key, "set");
  const Value checked_value(value, "set");
  if (is_null()) {
    throw MpiError("set", ErrorClass::Info,
                   "MPI_INFO_NULL (or a moved-from Info) holds no keys: make an Info with its default constructor");
  }
  detail::require_running("set");
  const detail::CallGuard guard("set");
  detail::check(MPI_Info_set(native_, checked_key.c_str(), checked_value.c_str()), "set");
}

std::optional<std::string> Info::get(std::string_view key) const {
  const Key checked(key, "get");
  if (is_null()) return std::nullopt;
  detail::require_running("get");
  const detail::CallGuard guard("get");
  const auto length = value_length(native_, checked, "get");
  if (!length) return std::nullopt;
  std::string value(static_cast<std::size_t>(*length), '\0');
  int found = 0;
#if MPI_VERSION >= 4
  int room = *length + 1;  // a std::string has a terminator behind its last character
  detail::check(MPI_Info_get_string(native_, checked.c_str(), &room, value.data(), &found), "get");
#else
  detail::check(MPI_Info_get(native_, checked.c_str(), *length, value.data(), &found), "get");
#endif
  return value;
}

bool Info::contains(std::string_view key) const {
  const Key checked(key, "contains");
  if (is_null()) return false;
  detail::require_running("contains");
  const detail::CallGuard guard("contains");
  return value_length(native_, checked, "contains").has_value();
}

bool Info::erase(std::string_view key) {
  const Key checked(key, "erase");
  if (is_null()) return false;
  detail::require_running("erase");
  const detail::CallGuard guard("erase");
  if (!value_length(native_, checked, "erase")) return false;
  detail::check(MPI_Info_delete(native_, checked.c_str()), "erase");
  return true;
}

std::size_t Info::size() const {
  if (is_null()) return 0;
  detail::require_running("size");
  const detail::CallGuard guard("size");
  int count = 0;
  detail::check(MPI_Info_get_nkeys(native_, &count), "size");
  return static_cast<std::size_t>(count);
}

std::string Info::key_at(std::size_t index) const {
  detail::require_running("keys");
  const detail::CallGuard guard("keys");
  std::array<char, MPI_MAX_INFO_KEY + 1> key{};
  detail::check(MPI_Info_get_nthkey(native_, static_cast<int>(index), key.data()), "keys");
  return key.data();
}

std::vector<std::string> Info::keys() const {
  const auto count = size();
  std::vector<std::string> result;
  result.reserve(count);
  for (std::size_t i = 0; i < count; ++i) result.push_back(key_at(i));
  return result;
}

Info::Iterator Info::begin() const {
  return {this, 0};
}
Info::Iterator Info::end() const {
  return {this, size()};
}

Info::Iterator::value_type Info::Iterator::operator*() const {
  auto key = info_->key_at(index_);
  auto value = info_->get(key);
  if (!value) {
    throw InternalError("Info::Iterator",
                        "the info object changed while it was iterated over: the key '" + key + "' is gone");
  }
  return {std::move(key), std::move(*value)};
}

Info Info::duplicate() const {
  if (is_null()) return null();
  detail::require_running("duplicate");
  const detail::CallGuard guard("duplicate");
  MPI_Info copy = MPI_INFO_NULL;
  detail::check(MPI_Info_dup(native_, &copy), "duplicate");
  return Info(copy);
}

}  // namespace ferrompi
