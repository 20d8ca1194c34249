// Standard input, for rank 0.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "comm/core/descriptor.hpp"

namespace cobre::command {

/// Three ways for it to get there. Handed over: a file or a pipe is simply inherited; a terminal belongs to our process
/// group, and would stop a rank that reads it from another one, so there we read and pass on. Fed: what rank 0 gets
/// comes from the launcher on another host. Relayed: rank 0 is on another host, and what we read is for the launcher to
/// send there.
class Input {
 public:
  enum class Way { HandedOver, Fed, Relayed };

  explicit Input(Way way);

  /// What rank 0 gets as its standard input, and what the others get.
  [[nodiscard]] int for_rank_0() const noexcept { return far_ ? far_.get() : own_; }
  [[nodiscard]] int for_others() const noexcept { return nothing_.get(); }
  /// Rank 0 has started: its end of the pipe is its own.
  void let_go() noexcept { far_ = {}; }

  /// What to poll for: reading ours, or writing what was read or fed. -1 for neither.
  [[nodiscard]] int wants_read() const noexcept;
  [[nodiscard]] int wants_write() const noexcept;
  void read_some();
  void write_some();

  /// Fed: more for rank 0, and the end of it.
  void feed(std::string_view bytes);
  void end();

  /// Relayed: what has been read since, and whether that is all.
  [[nodiscard]] std::string take() { return std::exchange(waiting_, {}); }
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  Way way_;
  int own_ = 0;
  comm::core::Descriptor nothing_;
  comm::core::Descriptor near_;  // our end of the pipe, where there is one
  comm::core::Descriptor far_;
  std::string waiting_;
  bool ended_ = false;
};

}  // namespace cobre::command
