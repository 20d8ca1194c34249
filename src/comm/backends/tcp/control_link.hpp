// A connection between two sentinels, as one of its ends sees it.
#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <vector>

#include "comm/backends/tcp/notices.hpp"
#include "comm/backends/tcp/sockets.hpp"

namespace cobre::comm::tcp {

class ControlLink {
 public:
  ControlLink(core::Descriptor socket, std::size_t peer) : socket_(std::move(socket)), peer_(peer) {}

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] std::size_t peer() const noexcept { return peer_; }
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  [[nodiscard]] bool has_unsent() const noexcept { return sent_ < unsent_.size(); }

  void send(std::span<const std::byte> bytes) {
    unsent_.insert(unsent_.end(), bytes.begin(), bytes.end());
    flush();
  }
  void flush() {
    if (lost_) return;
    // Where the other end is gone, what it said last may still be there to be read.
    const bool closed = send_some(fd(), unsent_, sent_) == Moved::Closed;
    if (!closed && has_unsent()) return;
    unsent_.clear();
    sent_ = 0;
  }

  /// Hands every notice that has come to `take(kind, body, whole)`, and notes the end of the connection.
  template <class Take>
  void receive(Take&& take) {
    while (!lost_) {
      std::size_t got = 0;
      const Moved moved = receive_some(fd(), reader_.wanted(), got);
      switch (reader_.advance(got)) {
        case NoticeReader::Found::Notice: take(reader_.kind(), reader_.body(), reader_.whole()); break;
        case NoticeReader::Found::Nonsense: lost_ = true; return;
        case NoticeReader::Found::Nothing: break;
      }
      if (moved == Moved::Closed) lost_ = true;
      if (moved == Moved::Nothing || moved == Moved::Some) return;
    }
  }

  /// Looks whether the other machine is still there: one that acknowledges nothing for `longest` is lost. `afresh`:
  /// what was seen before does not count, because this process did not run.
  void look_at_machine(Clock::time_point now, bool afresh, Clock::duration longest) noexcept {
    const auto silent = unacknowledged_for(fd());
    if (!silent || afresh) unacknowledged_since_.reset();
    if (!silent) return;
    if (!unacknowledged_since_) unacknowledged_since_ = now;
    // Both: the first also counts the time before anything was sent, the second knows nothing of what came meanwhile.
    if (std::min<Clock::duration>(*silent, now - *unacknowledged_since_) >= longest) lost_ = true;
  }

  /// The last step, to be repeated until it is done: true when the other machine has all that was said, or nobody there
  /// takes it. A connection that is closed while something lies unread is torn down by the kernel, with whatever it
  /// has not delivered. So this end says only that it has finished, and takes and forgets what still comes.
  [[nodiscard]] bool parted() noexcept {
    if (lost_) return true;
    flush();
    if (has_unsent()) return false;
    (void)shutdown(fd(), SHUT_WR);
    for (std::array<std::byte, 2048> forgotten{};;) {
      const ssize_t got = recv(fd(), forgotten.data(), forgotten.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return true;
      if (got < 0 && errno == EAGAIN) return settled(fd());
    }
  }

 private:
  core::Descriptor socket_;
  std::size_t peer_;
  NoticeReader reader_;
  std::vector<std::byte> unsent_;
  std::size_t sent_ = 0;
  bool lost_ = false;
  std::optional<Clock::time_point> unacknowledged_since_;
};

}  // namespace cobre::comm::tcp
