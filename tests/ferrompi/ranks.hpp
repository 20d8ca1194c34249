// What every test on ranks begins with.
#pragma once

#include "ferrompi/mpi_main.hpp"

#include <ferrompi/ferrompi.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

/// A fixture with a communicator of its own, so that a message that one test leaves behind cannot reach the next.
class Ranks : public testing::Test {
 protected:
  const ferrompi::Communicator world = test_mpi().world().duplicate();
  const int rank = world.rank();
  const int size = world.size();
  const std::size_t ranks = static_cast<std::size_t>(size);
  const std::size_t self = static_cast<std::size_t>(rank);
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
};

/// Runs `call`, which must throw an `Error`, and gives it back for a closer look.
template <class Error, class Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  throw std::logic_error("the call was expected to throw");
}
