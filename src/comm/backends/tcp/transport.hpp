// The wire as the collectives of `algorithms` see it: all ranks, or every n-th of them.
#pragma once

#include <cstddef>

#include "comm/algorithms/transport.hpp"
#include "comm/backends/tcp/wire.hpp"

namespace cobre::comm::tcp {

class Stride {
 public:
  Stride(Wire& wire, std::size_t step) noexcept : wire_(wire), step_(step) {}

  [[nodiscard]] std::size_t rank() const noexcept { return wire_.rank() / step_; }
  [[nodiscard]] std::size_t size() const noexcept { return (wire_.size() + step_ - 1) / step_; }
  void send(std::size_t peer, const void* data, std::size_t bytes) { wire_.send(peer * step_, data, bytes); }
  void recv(std::size_t peer, void* data, std::size_t bytes) { wire_.recv(peer * step_, data, bytes); }
  void exchange(std::size_t to, const void* out, std::size_t out_bytes, std::size_t from, void* in,
                std::size_t in_bytes) {
    wire_.exchange(to * step_, out, out_bytes, from * step_, in, in_bytes);
  }

 private:
  Wire& wire_;
  std::size_t step_;
};

static_assert(algorithms::Transport<Stride>);

}  // namespace cobre::comm::tcp
