// All of ferrompi. A file that uses little includes the header of what it uses instead, and compiles faster.
#pragma once

#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>
#include <ferrompi/error.hpp>
