// expect: deleted
#include <cobre/comm.hpp>

#include <utility>

void misuse(const cobre::comm::LocalBackend& comm) {
  auto channel = comm.channel(0, 1);
#ifdef FIXED
  const auto another = std::move(channel);
#else
  const auto another = channel;
#endif
  another.send(1);
}
