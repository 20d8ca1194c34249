// More elements than an int can count: buffers of two gigabytes of one-byte elements, filled and compared as fast as
// memory is.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "ferrompi/ranks.hpp"

#include <climits>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace large {

using Byte = std::uint8_t;

constexpr std::size_t n = (std::size_t{1} << 31) + 5;  // more than INT_MAX, and nothing divides it
static_assert(n > INT_MAX);

// Below 128, because Open MPI's sum of two bytes stops at 255 where the processor has AVX.
inline Byte pattern(std::size_t i, int rank, int round) {
  return static_cast<Byte>((i * 7 + (i >> 21) + static_cast<std::size_t>(rank * 31 + round)) & 0x7f);
}

// The pattern repeats itself inside a stretch, so that most of it is written and compared as fast as memory is: a test
// is about the way of the bytes, and there are hundreds of gigabytes to look at.
constexpr std::size_t period = 128;
constexpr std::size_t stretch = std::size_t{1} << 21;

// Calls `f(i, length)` for what lies in one stretch of a part that starts at `origin` of the pattern, until it says no.
template <class F>
void for_each_stretch(std::size_t origin, std::size_t count, F f) {
  for (std::size_t i = 0; i < count;) {
    const std::size_t length = std::min(count - i, stretch - (origin + i) % stretch);
    if (!f(i, length)) return;
    i += length;
  }
}

inline void fill(std::span<Byte> to, int rank, int round) {
  for_each_stretch(0, to.size(), [&](std::size_t i, std::size_t length) {
    std::size_t done = 0;
    for (; done < std::min(length, period); ++done) to[i + done] = pattern(i + done, rank, round);
    while (done < length) {
      const std::size_t more = std::min(done, length - done);
      std::memcpy(&to[i + done], &to[i], more);
      done += more;
    }
    return true;
  });
}

// The first place at which the bytes differ from what `expected(i)` says, or their number. What is expected is made of
// the pattern from `origin` on.
template <class Expected>
std::size_t first_difference(std::span<const Byte> in, Expected expected, std::size_t origin = 0) {
  std::size_t result = in.size();
  for_each_stretch(origin, in.size(), [&](std::size_t i, std::size_t length) {
    const std::size_t first = std::min(length, period);
    std::size_t k = 0;
    while (k < first && in[i + k] == expected(i + k)) ++k;
    // What equals what stands a period before it, back to a period that is right, is right.
    if (k == first && std::memcmp(&in[i], &in[i] + first, length - first) == 0) return true;
    while (in[i + k] == expected(i + k)) ++k;
    result = i + k;
    return false;
  });
  return result;
}
inline std::size_t matches(std::span<const Byte> in, int rank, int round) {
  return first_difference(in, [=](std::size_t i) { return pattern(i, rank, round); });
}

// Memory that is not touched before it is filled.
class Bytes {
 public:
  explicit Bytes(std::size_t length) : data_(std::make_unique_for_overwrite<Byte[]>(length)), length_(length) {}

  std::span<Byte> all() { return {data_.get(), length_}; }
  std::span<Byte> part(std::size_t from, std::size_t count) { return all().subspan(from, count); }

  void fill(std::size_t from, std::size_t count, int rank, int round) { large::fill(part(from, count), rank, round); }
  void clear() {
    if (length_ > 0) std::memset(data_.get(), 0xee, length_);
  }

  template <class Expected>
  std::size_t first_difference(std::size_t from, std::size_t count, Expected expected, std::size_t origin = 0) {
    return large::first_difference(part(from, count), expected, origin);
  }
  std::size_t matches(std::size_t from, std::size_t count, int rank, int round) {
    return large::matches(part(from, count), rank, round);
  }

 private:
  std::unique_ptr<Byte[]> data_;
  std::size_t length_;
};

// As long as it says, but of little memory: there are so many pieces, each mapped again and again over its share.
class Repeated {
 public:
  Repeated(std::size_t pieces, std::size_t share, std::size_t piece) : length_(pieces * share) {
    base_ = map(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    for (std::size_t p = 0; p < pieces; ++p) {
      const int memory = memfd_create("piece", 0);
      if (memory < 0 || ftruncate(memory, static_cast<off_t>(piece)) != 0) throw std::runtime_error("no memory");
      for (std::size_t at = 0; at < share; at += piece) {
        map(base_ + p * share + at, std::min(piece, share - at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
            memory);
      }
      close(memory);
    }
  }
  ~Repeated() { munmap(base_, length_); }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  [[nodiscard]] std::span<Byte> all() const { return {base_, length_}; }

 private:
  static Byte* map(void* where, std::size_t length, int access, int flags, int memory) {
    void* const address = mmap(where, length, access, flags, memory, 0);
    if (address == MAP_FAILED) throw std::runtime_error("mmap failed");
    return static_cast<Byte*>(address);
  }

  Byte* base_ = nullptr;
  std::size_t length_;
};

[[nodiscard]] constexpr std::size_t in_pages(std::size_t length) {
  constexpr std::size_t page = 4096;
  return (length + page - 1) / page * page;
}

// An input of the pattern, which comes back after so many elements. Nothing may be received into it.
class Input {
 public:
  explicit Input(std::size_t length) : Input(1, length) {}
  // Parts with a pattern each; they begin with a page, so their length is one of `in_pages`.
  Input(std::size_t parts, std::size_t length) : length_(length), memory_(parts, length, comes_back) {}

  [[nodiscard]] std::span<const Byte> all() const { return memory_.all(); }
  void fill(int rank, int round) { fill_part(0, rank, round); }
  void fill_part(std::size_t part, int rank, int round) {
    large::fill(memory_.all().subspan(part * length_, std::min(length_, comes_back)), rank, round);
  }
  [[nodiscard]] std::size_t matches(int rank, int round) const { return large::matches(all(), rank, round); }

 private:
  static constexpr std::size_t comes_back = period * stretch;
  std::size_t length_;
  Repeated memory_;
};

class InEveryForm : public Ranks {
 protected:
  // Blocking, nonblocking and twice persistent; `fill(round)` before, `look(round)` after.
  template <class Fill, class Look, class B, class I, class P>
  static void run(Fill fill, Look look, B blocking, I nonblocking, P persistent) {
    fill(0);
    blocking();
    look(0);
    fill(1);
    nonblocking().wait();
    look(1);
    auto plan = persistent();
    for (int round = 2; round < 4; ++round) {
      fill(round);
      plan.start();
      plan.wait();
      look(round);
    }
  }
};

class Large : public InEveryForm {
 protected:
  void SetUp() override { ASSERT_EQ(size, 2) << "these tests are written for two ranks"; }

  const int other = 1 - rank;
  const std::vector<std::size_t> counts{n, 3};
  const std::vector<std::size_t> displs{0, n + 2};
  const std::size_t length = n + 5;
};

}  // namespace large
