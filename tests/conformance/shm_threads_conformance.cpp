#include "conformance/any_backend.hpp"
#include "conformance/shm_ranks.hpp"
#include "conformance/worlds.hpp"

namespace {

using namespace conformance;

const bool joined =
    join<ThreadWorld<ShmRanks>>("ShmThreads") && join<ThreadWorld<ShmRanksThroughBuffers>>("ShmThreadsThroughBuffers");

}  // namespace
