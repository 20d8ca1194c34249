// The same under MPI, whose counts are int: runs on two ranks of a launcher.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include "ferrompi/mpi_main.hpp"
#include "support/long_messages.hpp"

namespace {

TEST(LargeMpiMessages, ArriveWhole) {
  const cobre::comm::FerrompiBackend comm(test_mpi().world().native());
  EXPECT_EQ(test::every_long_message(comm, (std::size_t{1} << 31) + 12345, (std::size_t{1} << 32) + 12345),
            test::all_arrived);
}

}  // namespace
