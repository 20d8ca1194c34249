// Standard input, for rank 0.
#pragma once

#include <string>

#include "comm/core/descriptor.hpp"

namespace cobre::command {

/// A file or a pipe is simply inherited. A terminal belongs to our process group, and would stop a rank that reads it
/// from another one: there we read, and pass on.
class Input {
 public:
  Input();

  /// What rank 0 gets as its standard input, and what the others get.
  [[nodiscard]] int for_rank_0() const noexcept { return far_ ? far_.get() : own_; }
  [[nodiscard]] int for_others() const noexcept { return nothing_.get(); }
  /// Rank 0 has started: its end of the pipe is its own.
  void let_go() noexcept { far_ = {}; }

  /// What to poll for: reading the terminal, or writing what was read. -1 for neither.
  [[nodiscard]] int wants_read() const noexcept;
  [[nodiscard]] int wants_write() const noexcept;
  void read_some();
  void write_some();

 private:
  int own_ = 0;
  comm::core::Descriptor nothing_;
  comm::core::Descriptor near_;  // our end of the pipe, where there is one
  comm::core::Descriptor far_;
  std::string waiting_;
  bool ended_ = false;
};

}  // namespace cobre::command
