#include "comm/backends/tcp/handshake.hpp"

#include <poll.h>

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

const char* describe(Refusal refusal) noexcept {
  return refusal == Refusal::Stranger ? "whoever is there does not belong to this job" : "it does not answer";
}

Introducing::Introducing(const Key& key, Purpose purpose, std::size_t from, std::size_t to) : key_(key) {
  result_.refusal = Refusal::Silent;
  Challenge& challenge = result_.session.challenge;
  challenge.purpose = purpose;
  challenge.from = static_cast<std::uint32_t>(from);
  challenge.to = static_cast<std::uint32_t>(to);
  challenge.nonce = random_bytes();
}

std::span<std::byte> Introducing::frame() noexcept {
  switch (step_) {
    case Step::Challenge: return bytes_of(result_.session.challenge);
    case Step::Response: return bytes_of(response_);
    case Step::Proof: return bytes_of(proof_);
    case Step::Admission: return bytes_of(admission_);
    case Step::Over: break;
  }
  return {};
}

bool Introducing::advance(int socket) {
  while (step_ != Step::Over) {
    const Moved moved = sends() ? send_some(socket, frame(), done_) : receive_some(socket, frame(), done_);
    if (moved == Moved::Nothing || moved == Moved::Some) return false;
    step_ = moved == Moved::Closed ? Step::Over : after_frame();
    done_ = 0;
  }
  return true;
}

Introducing::Step Introducing::after_frame() {
  const Challenge& challenge = result_.session.challenge;
  switch (step_) {
    case Step::Challenge: return Step::Response;
    case Step::Response:
      result_.refusal = Refusal::Stranger;
      if (response_.magic != protocol_magic) return Step::Over;
      if (!same(response_.proof, proof_of(key_, Side::Acceptor, challenge, response_.nonce))) return Step::Over;
      proof_.proof = proof_of(key_, Side::Connector, challenge, response_.nonce);
      result_.refusal = Refusal::NotAdmitted;
      return Step::Proof;
    case Step::Proof: return Step::Admission;
    case Step::Admission:
      if (!same(admission_.proof, proof_of(key_, Side::Admitted, challenge, response_.nonce))) return Step::Over;
      result_.session.key = proof_of(key_, Side::Session, challenge, response_.nonce);
      result_.refusal = Refusal::None;
      return Step::Over;
    case Step::Over: break;
  }
  return Step::Over;
}

Introduction introduce(int socket, const Key& key, Purpose purpose, std::size_t from, std::size_t to,
                       Clock::time_point deadline, const std::function<bool()>& pointless) {
  Introducing introducing(key, purpose, from, to);
  while (!introducing.advance(socket)) {
    if (!await(socket, introducing.sends() ? POLLOUT : POLLIN, deadline, pointless)) break;
  }
  return introducing.result();
}

}  // namespace cobre::comm::tcp
