#include "ferrompi/mpi_main.hpp"

#include <ferrompi/ferrompi.hpp>

#include <gtest/gtest.h>

using namespace ferrompi;

TEST(Environment, KnowsItsRankAndSize) {
  const auto world = test_mpi().world();
  EXPECT_GE(world.rank(), 0);
  EXPECT_LT(world.rank(), world.size());
}

TEST(Environment, RefusesASecondInit) {
  EXPECT_THROW((void)Mpi::init(), AlreadyInitialized);
}
