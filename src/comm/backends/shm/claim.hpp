// Permission to write into another rank's private memory.
//
// The target grants it for one operation; the writer takes it before it writes and clears it afterwards. A target that
// wants to leave early revokes what nobody has taken; what is taken it waits for, until the writer clears it or is
// dead. So no byte is ever written into a buffer whose owner has moved on.
//
//   granted ── take (writer) ──▶ held ── clear (writer) ──▶ cleared
//      │                           └───── give up (writer) ──▶ abandoned
//      └───── revoke (target) ──▶ revoked
#pragma once

#include <atomic>

#include "comm/backends/shm/channel.hpp"
#include "comm/backends/shm/layout.hpp"
#include "comm/backends/shm/peers.hpp"

namespace cobre::comm::shm {

namespace claim {
// One word, growing with the operations; `revoked` stands below `granted` and is never waited for.
[[nodiscard]] constexpr Word revoked(Word sequence) noexcept {
  return 8 * sequence;
}
[[nodiscard]] constexpr Word granted(Word sequence) noexcept {
  return 8 * sequence + 1;
}
[[nodiscard]] constexpr Word held(Word sequence) noexcept {
  return 8 * sequence + 2;
}
[[nodiscard]] constexpr Word cleared(Word sequence) noexcept {
  return 8 * sequence + 3;
}
/// Nothing more is going to be written, and what there is may not be all.
[[nodiscard]] constexpr Word abandoned(Word sequence) noexcept {
  return 8 * sequence + 4;
}
}  // namespace claim

/// The target's side, for the length of one operation.
class GrantedClaim {
 public:
  GrantedClaim(Channel& channel, const Peers& peers, std::size_t writer) noexcept;
  GrantedClaim(const GrantedClaim&) = delete;
  GrantedClaim& operator=(const GrantedClaim&) = delete;
  /// Where the operation fails: takes the permission back, or waits out the writer.
  ~GrantedClaim();

  /// The ordinary end: the writer has written all that it wanted to. Throws where it gave up.
  void await_cleared();

 private:
  Channel& channel_;
  const Peers& peers_;
  std::size_t writer_;
  Word sequence_;
  std::atomic<Word>& word_;
  bool over_ = false;
};

/// The writer's side.
class HeldClaim {
 public:
  HeldClaim(Channel& channel, std::size_t target) noexcept;
  HeldClaim(const HeldClaim&) = delete;
  HeldClaim& operator=(const HeldClaim&) = delete;
  ~HeldClaim();

  /// False where the target took its permission back.
  explicit operator bool() const noexcept { return held_; }
  /// All is there. Who lets go of a claim without having said so has given up, and the target must not go on.
  void written() noexcept { written_ = true; }

 private:
  Channel& channel_;
  std::atomic<Word>& word_;
  bool held_;
  bool written_ = false;
};

}  // namespace cobre::comm::shm
