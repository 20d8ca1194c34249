#include "comm/backends/tcp/handshake.hpp"

#include <array>

namespace cobre::comm::tcp {
namespace {

enum class Side { Acceptor, Connector, Admitted, Session };

Mac proof_of(const Key& key, Side side, const Challenge& challenge, const Nonce& answer) {
  constexpr std::array labels{"cobre-comm tcp: acceptor ", "cobre-comm tcp: connector", "cobre-comm tcp: admitted ",
                              "cobre-comm tcp: session  "};
  return authenticate(key, {label(labels[static_cast<std::size_t>(side)]), raw(challenge), raw(answer)});
}

template <class Frame>
std::span<std::byte> bytes_of(Frame& frame) noexcept {
  static_assert(std::has_unique_object_representations_v<Frame>);
  return std::as_writable_bytes(std::span(&frame, 1));
}

}  // namespace

std::span<std::byte> Acceptance::wanted() noexcept {
  const std::span<std::byte> frame = challenged_ ? bytes_of(proof_) : bytes_of(session_.challenge);
  return frame.subspan(got_);
}

Acceptance::State Acceptance::advance(std::size_t bytes) {
  answer_ = {};
  got_ += bytes;
  if (state_ != State::Reading || !wanted().empty()) return state_;
  got_ = 0;
  return state_ = challenged_ ? finish_proof() : finish_challenge();
}

Acceptance::State Acceptance::finish_challenge() {
  const Challenge& challenge = session_.challenge;
  const bool known_purpose = challenge.purpose == Purpose::Join || challenge.purpose == Purpose::Control ||
                             challenge.purpose == Purpose::Data || challenge.purpose == Purpose::Mail;
  if (challenge.magic != protocol_magic || !known_purpose || challenge.from >= largest_job) return State::Failed;
  response_.nonce = random_bytes();
  response_.proof = proof_of(key_, Side::Acceptor, challenge, response_.nonce);
  answer_ = bytes_of(response_);
  challenged_ = true;
  return State::Reading;
}

Acceptance::State Acceptance::finish_proof() {
  if (!same(proof_.proof, proof_of(key_, Side::Connector, session_.challenge, response_.nonce))) return State::Failed;
  session_.key = proof_of(key_, Side::Session, session_.challenge, response_.nonce);
  return State::Trusted;
}

Admission Acceptance::admission() const {
  return {proof_of(key_, Side::Admitted, session_.challenge, response_.nonce)};
}

Introduction introduce(int socket, const Key& key, Purpose purpose, std::size_t from, std::size_t to,
                       Clock::time_point deadline, const std::function<bool()>& pointless) {
  Introduction introduction;
  Challenge& challenge = introduction.session.challenge;
  challenge.purpose = purpose;
  challenge.from = static_cast<std::uint32_t>(from);
  challenge.to = static_cast<std::uint32_t>(to);
  challenge.nonce = random_bytes();
  Response response;
  introduction.refusal = Refusal::Silent;
  if (!send_all(socket, bytes_of(challenge), deadline)) return introduction;
  if (!receive_all(socket, bytes_of(response), deadline, pointless)) return introduction;
  introduction.refusal = Refusal::Stranger;
  if (response.magic != protocol_magic) return introduction;
  if (!same(response.proof, proof_of(key, Side::Acceptor, challenge, response.nonce))) return introduction;
  Proof proof{proof_of(key, Side::Connector, challenge, response.nonce)};
  Admission admission;
  introduction.refusal = Refusal::NotAdmitted;
  if (!send_all(socket, bytes_of(proof), deadline)) return introduction;
  if (!receive_all(socket, bytes_of(admission), deadline, pointless)) return introduction;
  if (!same(admission.proof, proof_of(key, Side::Admitted, challenge, response.nonce))) return introduction;
  introduction.session.key = proof_of(key, Side::Session, challenge, response.nonce);
  introduction.refusal = Refusal::None;
  return introduction;
}

}  // namespace cobre::comm::tcp
