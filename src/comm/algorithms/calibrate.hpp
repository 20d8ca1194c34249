// What a message, its bytes and folding cost here: measured between the first two ranks, and the same for everyone.
//
// Rank 0 conducts: it announces the length of the next exchange, or the end. It stops by the clock, so that a slow link
// is measured less often and not for longer. The first exchanges are short and warm the link up; the last are counted.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/algorithms/broadcast_binomial.hpp"
#include "comm/algorithms/transport.hpp"
#include "comm/algorithms/tuning.hpp"

namespace cobre::comm::algorithms {

/// Microseconds that folding a byte takes on this core.
[[nodiscard]] double measure_folding();

namespace calibration {

using Clock = std::chrono::steady_clock;
inline constexpr std::uint64_t over = ~std::uint64_t{0};
inline constexpr std::size_t longest = std::size_t{256} * 1024;
inline constexpr auto time_for_messages = std::chrono::microseconds(400);
inline constexpr auto time_for_bytes = std::chrono::microseconds(800);

[[nodiscard]] inline double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// One announcement there, and `length` bytes both ways at once.
template <Transport T>
double time_exchange(T& transport, std::uint64_t length, std::vector<std::byte>& out, std::vector<std::byte>& in) {
  const auto begin = Clock::now();
  transport.send(1, &length, sizeof length);
  transport.exchange(1, out.data(), length, 1, in.data(), length);
  return microseconds_since(begin);
}

template <Transport T>
Costs conduct(T& transport, std::vector<std::byte>& out, std::vector<std::byte>& in) {
  const auto time = [&](std::size_t length) { return time_exchange(transport, length, out, in); };
  Costs costs;
  costs.folded = measure_folding();

  time(1);
  std::array<double, 16> trips{};
  std::size_t done = 0;
  for (const auto end = Clock::now() + time_for_messages; done < trips.size() && (done < 3 || Clock::now() < end);) {
    trips[done++] = time(1);
  }
  const auto middle = trips.begin() + static_cast<std::ptrdiff_t>(done / 2);
  std::nth_element(trips.begin(), middle, trips.begin() + static_cast<std::ptrdiff_t>(done));
  // There and back. Two messages follow each other on the way there, which costs the link next to nothing.
  costs.message = std::max(*middle / 2, 0.01);

  const auto end = Clock::now() + time_for_bytes;
  for (std::size_t length = longest / 16; length <= longest && Clock::now() < end; length *= 4) {
    for (int round = 0; round < 3 && Clock::now() < end; ++round) {
      const double bytes_took = time(length) - 2 * costs.message;
      const double measured = std::max(bytes_took / static_cast<double>(length), 1e-6);
      costs.byte = round == 0 ? measured : std::min(costs.byte, measured);
    }
  }
  const std::uint64_t end_of_it = over;
  transport.send(1, &end_of_it, sizeof end_of_it);
  return costs;
}

template <Transport T>
void answer(T& transport, std::vector<std::byte>& out, std::vector<std::byte>& in) {
  for (std::uint64_t length = 0;;) {
    transport.recv(0, &length, sizeof length);
    if (length > longest) return;  // the end; nothing longer is ever announced
    transport.exchange(0, out.data(), length, 0, in.data(), length);
  }
}

}  // namespace calibration

/// `shared_cores`: whether ranks outnumber cores, as rank 0 sees it.
template <Transport T>
Costs calibrate(T& transport, bool shared_cores = false) {
  Costs costs;
  if (transport.size() == 1) return costs;
  if (transport.rank() < 2) {
    std::vector<std::byte> out(calibration::longest);
    std::vector<std::byte> in(calibration::longest);
    if (transport.rank() == 0) {
      costs = calibration::conduct(transport, out, in);
      costs.shared_cores = shared_cores ? 1 : 0;
    } else {
      calibration::answer(transport, out, in);
    }
  }
  broadcast_binomial(transport, reinterpret_cast<std::byte*>(&costs), sizeof costs, 0);
  return is_sensible(costs) ? costs : Costs{};
}

}  // namespace cobre::comm::algorithms
