// How two ends of a fresh connection prove to each other that they know the key, before either believes anything else.
//
//   connector                             acceptor
//     Challenge  (who, what for, nonce) ──▶
//                                    ◀── Response  (nonce, proof)
//     Proof                          ──▶
//                                    ◀── Admission (proof, or silence)
//
// Every frame has a fixed size. Every proof is an HMAC over the challenge and both nonces under a label of its own, so
// that nothing that was said in one connection, by either side, is of use in another.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "comm/backends/tcp/keys.hpp"
#include "comm/backends/tcp/sockets.hpp"
#include "comm/core/descriptor.hpp"

namespace cobre::comm::tcp {

inline constexpr std::uint64_t protocol_magic = 0x31303070'63746363U;  // byte order and version: "cctcp001"
inline constexpr std::size_t largest_job = 1024;                       // ranks

enum class Purpose : std::uint32_t { Join = 1, Control = 2, Data = 3, Mail = 4 };

struct Challenge {
  std::uint64_t magic = protocol_magic;
  Purpose purpose = Purpose::Join;
  std::uint32_t from = 0;  // rank
  std::uint32_t to = 0;
  std::uint32_t reserved = 0;
  Nonce nonce{};
};
struct Response {
  std::uint64_t magic = protocol_magic;
  Nonce nonce{};
  Mac proof{};
};
struct Proof {
  Mac proof{};
};
struct Admission {
  Mac proof{};
};

/// Which connection this is, once it is trusted, and the key of everything that is still said before it carries data.
struct Session {
  Challenge challenge;
  Key key{};
};

/// The acceptor's side as a machine that is fed what has come. It never waits and never allocates.
class Acceptance {
 public:
  explicit Acceptance(const Key& key) noexcept : key_(key) {}

  enum class State { Reading, Trusted, Failed };

  /// Where to put what comes next: never longer than what the protocol allows now.
  [[nodiscard]] std::span<std::byte> wanted() noexcept;
  /// So many bytes came. What then has to be sent is in `answer()`.
  State advance(std::size_t bytes);
  [[nodiscard]] std::span<const std::byte> answer() const noexcept { return answer_; }

  [[nodiscard]] State state() const noexcept { return state_; }
  /// Whether a challenge has come that makes sense, which proves nothing.
  [[nodiscard]] bool challenged() const noexcept { return challenged_; }
  [[nodiscard]] const Session& session() const noexcept { return session_; }
  /// What admits the connector. Sending it is the acceptor's decision.
  [[nodiscard]] Admission admission() const;

 private:
  State finish_challenge();
  State finish_proof();

  Key key_;
  State state_ = State::Reading;
  bool challenged_ = false;
  std::size_t got_ = 0;
  Response response_;
  Proof proof_;
  std::span<const std::byte> answer_;
  Session session_;
};

/// What came of it for the connector.
enum class Refusal { None, Silent, Stranger, NotAdmitted };
[[nodiscard]] const char* describe(Refusal refusal) noexcept;
struct Introduction {
  Refusal refusal = Refusal::None;
  Session session;
};

/// The connector's side, as far as it goes without waiting.
class Introducing {
 public:
  Introducing(const Key& key, Purpose purpose, std::size_t from, std::size_t to);

  /// Whether it is over, which `result()` tells how. Before that it tells how far it came.
  [[nodiscard]] bool advance(int socket);
  /// Whether the socket has to be ready for writing before it goes on, and not for reading.
  [[nodiscard]] bool sends() const noexcept { return step_ == Step::Challenge || step_ == Step::Proof; }
  [[nodiscard]] const Introduction& result() const noexcept { return result_; }

 private:
  enum class Step { Challenge, Response, Proof, Admission, Over };

  [[nodiscard]] std::span<std::byte> frame() noexcept;
  [[nodiscard]] Step after_frame();

  Key key_;
  Step step_ = Step::Challenge;
  std::size_t done_ = 0;  // of the frame
  Response response_;
  Proof proof_;
  Admission admission_;
  Introduction result_;
};

/// The same, waiting until the deadline at most.
[[nodiscard]] Introduction introduce(int socket, const Key& key, Purpose purpose, std::size_t from, std::size_t to,
                                     Clock::time_point deadline, const std::function<bool()>& pointless = {});

}  // namespace cobre::comm::tcp
