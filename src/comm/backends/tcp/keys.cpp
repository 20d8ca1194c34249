#include "comm/backends/tcp/keys.hpp"

#include <cobre/comm/errors.hpp>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/random.h>

#include <cerrno>
#include <memory>
#include <string>

namespace cobre::comm::tcp {
namespace {

using MacContext = std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)>;

[[noreturn]] void throw_no_hmac() {
  throw InitializationFailed("tcp", "OpenSSL cannot compute HMAC-SHA256 on this machine");
}

Mac hmac(std::span<const std::byte> key, std::initializer_list<std::span<const std::byte>> parts) {
  // Found once and kept: looking an algorithm up costs more than using it.
  static EVP_MAC* const algorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  const MacContext context(algorithm == nullptr ? nullptr : EVP_MAC_CTX_new(algorithm), &EVP_MAC_CTX_free);
  if (!context) throw_no_hmac();
  std::string digest = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                                   OSSL_PARAM_construct_end()};
  bool fine =
      EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(key.data()), key.size(), parameters) == 1;
  for (const auto part : parts) {
    fine = fine && EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(part.data()), part.size()) == 1;
  }
  Mac mac{};
  std::size_t length = 0;
  fine = fine && EVP_MAC_final(context.get(), mac.data(), &length, mac.size()) == 1 && length == mac.size();
  if (!fine) throw_no_hmac();
  return mac;
}

}  // namespace

Mac authenticate(const Key& key, std::initializer_list<std::span<const std::byte>> parts) {
  return hmac(std::as_bytes(std::span(key)), parts);
}

Key key_from_secret(std::string_view secret) {
  return hmac(label(secret), {label("cobre-comm tcp 1: the key of a job")});
}

bool same(const Mac& a, const Mac& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Bytes32 random_bytes() {
  Bytes32 bytes{};
  for (;;) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got == static_cast<ssize_t>(bytes.size())) return bytes;
    if (got < 0 && errno != EINTR) throw InitializationFailed("tcp", "the kernel gives no random numbers");
  }
}

void forget(std::span<std::byte> secret) noexcept {
  OPENSSL_cleanse(secret.data(), secret.size());
}

}  // namespace cobre::comm::tcp
