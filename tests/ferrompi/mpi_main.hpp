// The one Mpi of a test program: every test runs on every rank.
#pragma once

#include <ferrompi/environment.hpp>

ferrompi::Mpi& test_mpi();
