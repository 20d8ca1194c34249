// A connection to another rank that is being opened by somebody who does not wait for it: for the first message of a
// pair that no collective uses. Whoever wants it looks after it now and then.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "comm/backends/tcp/address.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/pauses.hpp"
#include "comm/backends/tcp/sockets.hpp"
#include "comm/core/descriptor.hpp"

namespace cobre::comm::tcp {

class Opening {
 public:
  /// Whom to visit, and what for.
  struct Visit {
    Address target;
    std::optional<Address> source;
    Key key;
    Purpose purpose;
    std::size_t from;
    std::size_t to;
    std::chrono::milliseconds host_timeout;  // for a machine to answer
  };

  explicit Opening(const Visit& visit) : visit_(visit), pauses_(visit.from) {}

  enum class State { UnderWay, Open, Failed };
  /// As far as it goes without waiting.
  State advance();
  [[nodiscard]] State state() const noexcept;
  /// Once it is open.
  [[nodiscard]] core::Descriptor take() noexcept { return std::move(socket_); }
  /// Once it has failed: why.
  [[nodiscard]] std::string problem() const;
  /// What to sleep on: nothing between two attempts, or a socket.
  [[nodiscard]] pollfd entry() const noexcept;

 private:
  enum class Step { Pause, Connecting, Introducing, Over };

  void set_out(Clock::time_point now);
  void look_at_connection(Clock::time_point now);
  void introduced(Clock::time_point now);
  void miss(int error, Clock::time_point now);
  void try_again(Clock::time_point give_up, Clock::time_point now);
  [[nodiscard]] Clock::time_point vanished_by() const { return begin_ + visit_.host_timeout + visit_.host_timeout / 4; }

  Visit visit_;
  Pauses pauses_;
  Step step_ = Step::Pause;
  bool failed_ = false;
  core::Descriptor socket_;
  std::optional<Introducing> introducing_;
  Clock::time_point begin_ = Clock::now();  // since when nobody was there
  Clock::time_point until_{};               // the end of the pause, or of the patience with a silent machine
  int error_ = 0;                           // of the last attempt, where that came to no door
};

}  // namespace cobre::comm::tcp
