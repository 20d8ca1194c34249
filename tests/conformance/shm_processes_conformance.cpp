#include "conformance/any_backend.hpp"
#include "conformance/shm_ranks.hpp"
#include "conformance/worlds.hpp"

namespace {

using namespace conformance;

const bool joined = join<ProcessWorld<ShmRanks>>("ShmProcesses") &&
                    join<ProcessWorld<ShmRanksThroughBuffers>>("ShmProcessesThroughBuffers") &&
                    join<ProcessWorld<ShmRanksFromBufferToBuffer>>("ShmProcessesFromBufferToBuffer");

}  // namespace
