// cobre-comm: write a parallel program once, run it as one process, over shared memory, over TCP or under MPI.
#pragma once

#include <cobre/comm/base/element_type.hpp>
#include <cobre/comm/base/reduce_op.hpp>
#include <cobre/comm/base/slurm.hpp>
#include <cobre/comm/block_distribution.hpp>
#include <cobre/comm/channel.hpp>
#include <cobre/comm/comm_backend.hpp>
#include <cobre/comm/concepts.hpp>
#include <cobre/comm/errors.hpp>
#include <cobre/comm/factory.hpp>
#include <cobre/comm/observed.hpp>
#include <cobre/comm/resources.hpp>
#include <cobre/comm/run.hpp>
#include <cobre/comm/warnings.hpp>
