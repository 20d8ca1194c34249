// All of ferrompi. A file that uses little includes the header of what it uses instead, and compiles faster.
#pragma once

#include <ferrompi/communicator.hpp>
#include <ferrompi/environment.hpp>
#include <ferrompi/error.hpp>
#include <ferrompi/info.hpp>
#include <ferrompi/persistent.hpp>
#include <ferrompi/request.hpp>
#include <ferrompi/request_set.hpp>
#include <ferrompi/slurm.hpp>
#include <ferrompi/topology.hpp>
#include <ferrompi/window.hpp>
