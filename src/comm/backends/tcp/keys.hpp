// The cryptography of a job: keys, proofs and random numbers. HMAC-SHA256 throughout, by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace cobre::comm::tcp {

using Bytes32 = std::array<std::uint8_t, 32>;
using Key = Bytes32;
using Mac = Bytes32;
using Nonce = Bytes32;

/// HMAC-SHA256 over the parts, one after another. Parts must have fixed lengths, or the last one alone may vary: what
/// is authenticated is their concatenation.
[[nodiscard]] Mac authenticate(const Key& key, std::initializer_list<std::span<const std::byte>> parts);

/// The label says what the key or proof is for, so that one can never pass for another.
[[nodiscard]] inline std::span<const std::byte> label(std::string_view words) noexcept {
  return std::as_bytes(std::span(words.data(), words.size()));
}
template <class T>
[[nodiscard]] std::span<const std::byte> raw(const T& value) noexcept {
  static_assert(std::has_unique_object_representations_v<T>, "padding would go over the wire");
  return std::as_bytes(std::span(&value, 1));
}

/// From a secret of any length.
[[nodiscard]] Key key_from_secret(std::string_view secret);

/// In constant time: how long it takes does not tell where the two differ.
[[nodiscard]] bool same(const Mac& a, const Mac& b) noexcept;

/// From the kernel's generator. Throws InitializationFailed where there are none.
[[nodiscard]] Bytes32 random_bytes();

/// Overwrites, also where the compiler sees that nobody reads it again.
void forget(std::span<std::byte> secret) noexcept;

}  // namespace cobre::comm::tcp
