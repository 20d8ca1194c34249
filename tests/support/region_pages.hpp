// How much memory a region really takes, by what the kernel counts.
#pragma once

#include <cobre/comm/base/reduce_op.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

namespace test {

/// What the kernel counts for this process of the pages between the two addresses, in kilobytes: a page that four
/// processes share is a quarter of a page for each.
inline std::size_t proportional_kilobytes(const void* begin, const void* end) {
  std::ifstream smaps("/proc/self/smaps");
  std::size_t total = 0;
  bool ours = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ')) {
      std::istringstream range(line);
      std::uintptr_t from = 0;
      std::uintptr_t to = 0;
      char dash = 0;
      range >> std::hex >> from >> dash >> to;
      ours = from < reinterpret_cast<std::uintptr_t>(end) && to > reinterpret_cast<std::uintptr_t>(begin);
    }
    if (ours && line.starts_with("Pss:")) total += std::stoul(line.substr(4));
  }
  return total;
}

/// Collective. What a region of 256 MB, which every rank reads, costs all ranks together: "256 MB", or what is wrong.
template <class Backend>
std::string cost_of_a_quarter_gigabyte(const Backend& comm) {
  constexpr std::size_t count = (std::size_t{256} << 20) / sizeof(double);
  auto region = comm.template create_shared_region<double>(count);
  if (comm.is_leader()) std::iota(region.as_mut_span().begin(), region.as_mut_span().end(), 0.0);
  region.fence();
  double sum = 0;
  for (const double value : region.as_span()) sum += value;  // every rank touches every page
  region.fence();
  const std::size_t mine = proportional_kilobytes(region.as_span().data(), region.as_span().data() + count);
  region.fence();
  const std::size_t all = comm.allreduce(mine, cobre::comm::ReduceOp::Sum);
  if (sum != static_cast<double>(count - 1) * static_cast<double>(count) / 2) return "wrong data";
  return all > 250'000 && all < 300'000 ? "256 MB" : std::to_string(all) + " kB";
}

}  // namespace test
