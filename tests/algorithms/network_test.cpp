// The network of the tests finds out what it is there to find out.

#include "algorithms/worlds.hpp"

namespace {

using cobre::comm::algorithms::Transport;
using cobre::comm::test::Deadlock;
using cobre::comm::test::ThreadNetwork;

static_assert(Transport<ThreadNetwork::Transport>);

// Right only where messages are buffered.
void send_before_receiving(ThreadNetwork::Transport& transport, std::size_t bytes) {
  const std::vector<std::byte> out(bytes);
  std::vector<std::byte> in(bytes);
  const std::size_t ranks = transport.size();
  transport.send((transport.rank() + 1) % ranks, out.data(), bytes);
  transport.recv((transport.rank() + ranks - 1) % ranks, in.data(), bytes);
}

TEST(ThreadNetwork, FindsARingThatReliesOnBuffers) {
  ThreadNetwork unbuffered(3, 0);
  EXPECT_THROW(unbuffered.run([](auto& transport) { send_before_receiving(transport, 8); }), Deadlock);
  ThreadNetwork too_short(3, 64);
  EXPECT_THROW(too_short.run([](auto& transport) { send_before_receiving(transport, 64); }), Deadlock);
}

TEST(ThreadNetwork, BuffersWhatFits) {
  ThreadNetwork network(3, 64);
  network.run([](auto& transport) { send_before_receiving(transport, 63); });
}

TEST(ThreadNetwork, FindsAMessageOfNoBytesThatNobodyReceives) {
  ThreadNetwork network(2, 64);
  EXPECT_THROW(network.run([](auto& transport) {
    if (transport.rank() == 0) transport.send(1, nullptr, 0);
  }),
               std::logic_error);
}

TEST(ThreadNetwork, FindsAReceiveOfAnotherLength) {
  ThreadNetwork network(2, 64);
  EXPECT_THROW(network.run([](auto& transport) {
    std::byte data[2]{};
    if (transport.rank() == 0) {
      transport.send(1, data, 2);
    } else {
      transport.recv(0, data, 1);
    }
  }),
               std::logic_error);
}

TEST(ThreadNetwork, FindsARankThatWaitsForOneThatHasLeft) {
  ThreadNetwork network(2, 64);
  EXPECT_THROW(network.run([](auto& transport) {
    std::byte data{};
    if (transport.rank() == 0) transport.recv(1, &data, 1);
  }),
               Deadlock);
}

}  // namespace
