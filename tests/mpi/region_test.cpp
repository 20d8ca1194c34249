// Regions are one set of pages, whatever the MPI library calls the file behind them. Runs on every rank of a launcher.

#include <cobre/comm/mpi.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>

#include "ferrompi/mpi_main.hpp"

namespace {

using cobre::comm::FerrompiBackend;
using cobre::comm::ReduceOp;

// What the kernel counts for this process of the pages between the two addresses, in kilobytes: a page that four
// processes share is a quarter of a page for each.
std::size_t proportional_kilobytes(const void* begin, const void* end) {
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

TEST(MpiRegion, OfAQuarterGigabyteCostsAQuarterGigabyteHoweverManyRanksReadIt) {
  const FerrompiBackend comm(test_mpi().world().native());
  constexpr std::size_t count = (std::size_t{256} << 20) / sizeof(double);
  auto region = comm.create_shared_region<double>(count);
  if (comm.is_leader()) std::iota(region.as_mut_span().begin(), region.as_mut_span().end(), 0.0);
  region.fence();
  double sum = 0;
  for (const double value : region.as_span()) sum += value;  // every rank touches every page
  region.fence();
  const std::size_t mine = proportional_kilobytes(region.as_span().data(), region.as_span().data() + count);
  region.fence();
  const std::size_t all = comm.allreduce(mine, ReduceOp::Sum);
  EXPECT_EQ(sum, static_cast<double>(count - 1) * static_cast<double>(count) / 2);
  EXPECT_GT(all, 250'000U) << "kB";
  EXPECT_LT(all, 300'000U) << "kB";
}

}  // namespace
