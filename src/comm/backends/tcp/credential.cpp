#include "comm/backends/tcp/credential.hpp"

#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/errors.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#ifdef COBRE_COMM_MUNGE
#include <munge.h>
#include <unistd.h>
#endif

#include "comm/core/format.hpp"

namespace cobre::comm::tcp {

Key key_between(const Bytes32& connector, const Bytes32& acceptor, std::string_view step) {
  return authenticate(connector, {label("cobre-comm tcp: vouched for"), raw(acceptor), label(step)});
}

std::string step_of_slurm() {
  const auto job = slurm::job_id();
  if (!job) return {};
  // A job that is queued again keeps its number, and its steps are counted from 0 again.
  const auto restarts = slurm::detail::text("SLURM_RESTART_COUNT").value_or("0");
  return core::format("{}.{}.{}", *job, slurm::step_id().value_or(""), restarts);
}

namespace {

// As munged(8) writes it: a prefix, base64, and an end.
constexpr std::string_view prefix = "MUNGE:";
constexpr char suffix = ':';

constexpr bool is_base64(char c) noexcept {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '=';
}

constexpr bool looks_like_a_credential(std::string_view text) noexcept {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return text.size() > 1 && text.back() == suffix && std::ranges::all_of(text.substr(0, text.size() - 1), is_base64);
}

}  // namespace

// Apart from the calls of MUNGE: whoever can connect may send what these read. A door that asked the daemon about
// nonsense would wait for the answer each time, and everybody at the door with it.
std::optional<CredentialText> text_of(const Credential& credential) noexcept {
  if (credential.bytes >= credential.text.size()) return std::nullopt;
  if (!looks_like_a_credential({credential.text.data(), credential.bytes})) return std::nullopt;
  CredentialText text = credential.text;
  text[credential.bytes] = '\0';
  return text;
}

std::optional<Bytes32> secret_in(std::span<const std::byte> payload, uid_t writer, uid_t user) noexcept {
  Bytes32 secret{};
  if (writer != user || payload.size() != secret.size()) return std::nullopt;
  std::memcpy(secret.data(), payload.data(), secret.size());
  return secret;
}

#ifdef COBRE_COMM_MUNGE

namespace {

using MungeContext = std::unique_ptr<munge_ctx, decltype(&munge_ctx_destroy)>;
using Owned = std::unique_ptr<void, decltype(&std::free)>;

}  // namespace

bool has_munge() noexcept {
  return true;
}

Written try_to_write_credential(const Bytes32& secret) {
  const MungeContext context(munge_ctx_create(), &munge_ctx_destroy);
  char* text = nullptr;
  munge_err_t error = context ? EMUNGE_SUCCESS : EMUNGE_NO_MEMORY;
  if (error == EMUNGE_SUCCESS) error = munge_ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, geteuid());
  if (error == EMUNGE_SUCCESS) {
    error = munge_encode(&text, context.get(), secret.data(), static_cast<int>(secret.size()));
  }
  const Owned owned(text, &std::free);
  Credential credential;
  const std::size_t length = text == nullptr ? 0 : std::strlen(text);
  if (error != EMUNGE_SUCCESS || length == 0 || length >= credential.text.size()) {
    return {std::nullopt, munge_strerror(error)};
  }
  std::memcpy(credential.text.data(), text, length);
  credential.bytes = static_cast<std::uint32_t>(length);
  return {credential, {}};
}

Credential write_credential(const Bytes32& secret) {
  const Written written = try_to_write_credential(secret);
  if (written.credential) return *written.credential;
  throw InitializationFailed("tcp", core::format("MUNGE does not vouch for this process ({}); start munged, or set "
                                                 "COBRE_TCP_SECRET_FILE on every rank",
                                                 written.problem));
}

std::optional<Bytes32> read_credential(const Credential& credential) {
  const auto text = text_of(credential);
  if (!text) return std::nullopt;
  void* payload = nullptr;
  int length = 0;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  const munge_err_t error = munge_decode(text->data(), nullptr, &payload, &length, &uid, &gid);
  const Owned owned(payload, &std::free);
  if (error != EMUNGE_SUCCESS || length <= 0) return std::nullopt;
  return secret_in({static_cast<const std::byte*>(payload), static_cast<std::size_t>(length)}, uid, geteuid());
}

#else

bool has_munge() noexcept {
  return false;
}
Written try_to_write_credential(const Bytes32&) {
  return {};
}
Credential write_credential(const Bytes32&) {
  throw InitializationFailed("tcp", "this build knows no MUNGE; set COBRE_TCP_SECRET_FILE on every rank");
}
std::optional<Bytes32> read_credential(const Credential&) {
  return std::nullopt;
}

#endif

}  // namespace cobre::comm::tcp
