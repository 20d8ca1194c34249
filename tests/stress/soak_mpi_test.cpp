// The same under an MPI launcher.

#include <gtest/gtest.h>

#include "ferrompi/mpi_main.hpp"
#include "stress/soak.hpp"

TEST(Soak, OnMpi) {
  const cobre::comm::CommBackend comm(cobre::comm::FerrompiBackend(test_mpi().world().native()));
  EXPECT_EQ(stress::soak(comm, stress::soak_operations(), 20261115), "right");
}
