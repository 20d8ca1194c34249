#include "conformance/any_backend.hpp"
#include "conformance/kept_ranks.hpp"
#include "conformance/tcp_ranks.hpp"

namespace {

using namespace conformance;

const bool joined = join<KeptThreadWorld<TcpRanks>>("TcpThreads");

}  // namespace
