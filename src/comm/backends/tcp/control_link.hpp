// One edge of the control tree, as one of its ends sees it.
#pragma once

#include <cstddef>
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

 private:
  core::Descriptor socket_;
  std::size_t peer_;
  NoticeReader reader_;
  std::vector<std::byte> unsent_;
  std::size_t sent_ = 0;
  bool lost_ = false;
};

}  // namespace cobre::comm::tcp
