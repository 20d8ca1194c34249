// The port that a launcher has found for rank 0 and told to everybody, before rank 0 is there.

#include "run/ports.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

#include "comm/backends/tcp/address.hpp"
#include "comm/backends/tcp/sockets.hpp"

namespace cobre::command {
namespace {

using comm::core::Descriptor;
using comm::tcp::Address;

Address at(const char* host, std::uint16_t port) {
  return comm::tcp::resolve(host, port).addresses.at(0);
}

// As a launcher looks for one, or a program that wants to have it for itself.
bool can_be_had_alone(const Address& address) {
  const Descriptor alone(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  return alone && bind(alone.get(), address.get(), address.length()) == 0;
}

TEST(HeldPort, IsForRankZeroWhereverThatListensAndForNobodyElse) {
  const HeldPort port;
  EXPECT_GE(port.number(), 20'000);
  EXPECT_LT(port.number(), 32'000);
  for (const char* const host : {"127.0.0.1", "0.0.0.0", "::1", "::"}) {
    const Address address = at(host, port.number());
    EXPECT_FALSE(can_be_had_alone(address)) << host;
    const comm::tcp::Opened door = comm::tcp::open_listener(address, 1);
    EXPECT_TRUE(door.socket) << host << ": " << std::strerror(door.error);
    EXPECT_FALSE(comm::tcp::open_listener(address, 1).socket) << host << ": rank 0 has it";
  }
}

TEST(HeldPort, IsAnybodysWhenTheJobIsOver) {
  std::uint16_t number = 0;
  {
    const HeldPort port;
    number = port.number();
    EXPECT_FALSE(can_be_had_alone(at("127.0.0.1", number)));
  }
  EXPECT_TRUE(can_be_had_alone(at("127.0.0.1", number)));
}

}  // namespace
}  // namespace cobre::command
