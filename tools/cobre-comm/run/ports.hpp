// A port for rank 0 to listen at, on the machine on which this is called.
#pragma once

#include <array>
#include <cstdint>

#include "comm/core/descriptor.hpp"

namespace cobre::command {

/// One that nobody has, below the range from which kernels hand out ports of their own accord. As long as this lives it
/// is not given to anybody who does not ask to share it (SO_REUSEADDR), such as another launcher; rank 0 does, and can
/// listen there.
class HeldPort {
 public:
  /// Where all of them are taken, one of them: rank 0 says so.
  HeldPort();
  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

 private:
  std::uint16_t number_ = 0;
  std::array<comm::core::Descriptor, 2> sockets_;  // of IPv4 and of IPv6, bound and nothing more
};

}  // namespace cobre::command
