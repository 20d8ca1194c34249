// Memory that an operation needs beside the user's buffers. It grows to what the largest operation needed and stays, so
// that a repeated operation allocates nothing; long messages pass through it in pieces, which bounds it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace cobre::comm::algorithms {

class Scratch {
 public:
  /// At least `bytes`, aligned for any element type. Until the next call; what was there before is lost.
  [[nodiscard]] std::byte* memory(std::size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();  // first, so that the two never exist at once
      bytes_ = 0;
      memory_.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{page})));
      bytes_ = bytes;
    }
    return memory_.get();
  }

  /// Room for the addresses of `n` sources of a fold. Until the next call.
  [[nodiscard]] std::span<const void*> sources(std::size_t n) {
    if (n > sources_.size()) sources_.resize(n);
    return std::span(sources_).first(n);
  }

  /// What the memory has grown to.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t page = 4096;
  struct Release {
    void operator()(std::byte* memory) const noexcept { ::operator delete (memory, std::align_val_t{page}); }
  };

  std::unique_ptr<std::byte, Release> memory_;
  std::size_t bytes_ = 0;
  std::vector<const void*> sources_;
};

}  // namespace cobre::comm::algorithms
