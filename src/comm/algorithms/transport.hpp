// What the collectives of this floor ask of whatever moves the bytes.
#pragma once

#include <concepts>
#include <cstddef>

namespace cobre::comm::algorithms {

/// Moves bytes between ranks. Messages between two ranks arrive in order, and both sides know every length. Calls throw
/// when the operation cannot go on; the algorithms pass that through and hold nothing that would have to be undone.
///
/// What the algorithms keep to: no message to oneself; every message is received whole, by one call, with the length
/// with which it was sent; a message of no bytes is a message like any other (its arrival is what synchronises).
/// They rely on no buffering: each is right where `send` waits until the receiver has taken the message.
template <class T>
concept Transport = requires(T& t, std::size_t peer, const void* out, void* in, std::size_t n) {
  { t.rank() }
  noexcept->std::same_as<std::size_t>;
  { t.size() }
  noexcept->std::same_as<std::size_t>;
  t.send(peer, out, n);                   // returns when `out` may be changed; may wait for the receiver
  t.recv(peer, in, n);                    // returns when n bytes are there
  t.exchange(peer, out, n, peer, in, n);  // (to, out, bytes, from, in, bytes): both directions progress at once
};

}  // namespace cobre::comm::algorithms
