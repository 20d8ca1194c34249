// Bytes on their way to a child, which may take its time to read them.
#pragma once

#include <string>
#include <string_view>

#include "comm/core/descriptor.hpp"

namespace cobre::command {

class Outbox {
 public:
  Outbox() = default;  // one that nobody reads
  /// With something in it already. The child gets the other end as its standard input.
  explicit Outbox(std::string_view first);

  [[nodiscard]] int far() const noexcept { return far_.get(); }
  /// The child has started: its end is its own.
  void let_go() noexcept { far_ = {}; }

  void add(std::string_view bytes) {
    if (near_) waiting_ += bytes;
  }
  /// Whether more may come that is not urgent.
  [[nodiscard]] bool has_room() const noexcept { return waiting_.size() < (1U << 20); }
  /// What to poll for; -1 where there is nothing to write.
  [[nodiscard]] int wants_write() const noexcept { return waiting_.empty() ? -1 : near_.get(); }
  void write_some();

 private:
  comm::core::Descriptor near_;
  comm::core::Descriptor far_;
  std::string waiting_;
};

}  // namespace cobre::command
