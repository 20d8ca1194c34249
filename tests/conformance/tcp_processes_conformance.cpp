#include "conformance/any_backend.hpp"
#include "conformance/tcp_ranks.hpp"
#include "conformance/worlds.hpp"

namespace {

using namespace conformance;

const bool joined = join<ProcessWorld<TcpRanks>>("TcpProcesses") &&
                    join<ProcessWorld<TcpRanksSharingMemory>>("TcpProcessesSharingMemory");

}  // namespace
