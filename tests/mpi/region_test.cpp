// Regions are one set of pages, whatever the MPI library calls the file behind them. Runs on every rank of a launcher.

#include <cobre/comm/mpi.hpp>

#include <gtest/gtest.h>

#include "ferrompi/mpi_main.hpp"
#include "support/region_pages.hpp"

namespace {

TEST(MpiRegion, OfAQuarterGigabyteCostsAQuarterGigabyteHoweverManyRanksReadIt) {
  const cobre::comm::FerrompiBackend comm(test_mpi().world().native());
  EXPECT_EQ(test::cost_of_a_quarter_gigabyte(comm), "256 MB");
}

}  // namespace
