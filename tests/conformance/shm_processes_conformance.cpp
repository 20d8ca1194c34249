#include "conformance/any_backend.hpp"
#include "conformance/kept_ranks.hpp"
#include "conformance/shm_ranks.hpp"

namespace {

using namespace conformance;

const bool joined = join<KeptProcessWorld<ShmRanks>>("ShmProcesses") &&
                    join<KeptProcessWorld<ShmRanksThroughBuffers>>("ShmProcessesThroughBuffers") &&
                    join<KeptProcessWorld<ShmRanksFromBufferToBuffer>>("ShmProcessesFromBufferToBuffer");

}  // namespace
