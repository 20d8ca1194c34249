// What messages on mpi take of the allocator, and what happens where it has nothing left. A program of its own, because
// it puts its own in the place of the allocator; what MPI allocates by itself is not counted.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferrompi/mpi_main.hpp"
#include "support/allocator.hpp"
#include "support/outcome.hpp"

namespace {

using namespace cobre::comm;
using test::ShortOfMemory;

FerrompiBackend backend() {
  return FerrompiBackend(test_mpi().world().native());
}

unsigned long allocations_of(const std::function<void()>& operation) {
  for (int warming = 0; warming < 2; ++warming) operation();
  return test::allocations_of(operation);
}

TEST(MpiMessageMemory, IsNotTakenByMessagesThatCannotTimeOut) {
  const FerrompiBackend comm = backend();
  const std::size_t peer = 1 - comm.rank();
  for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}}) {
    const std::vector<double> out(count, 1.0);
    std::vector<double> in(count);
    EXPECT_EQ(allocations_of([&] { comm.sendrecv(out, peer, in, peer, 1); }), 0U);
    EXPECT_EQ(allocations_of([&] {
                if (comm.rank() == 0) comm.send(out, peer, 2);
                if (comm.rank() == 1) comm.recv(in, peer, 2);
              }),
              0U);
    // The other's message is announced first, and its receive waits for no call of its own.
    std::vector<double> later(count);
    const auto waiting = comm.channel(peer, 3).irecv(later);
    EXPECT_EQ(allocations_of([&] {
                if (comm.rank() == 0) comm.send(out, peer, 4);
                if (comm.rank() == 1) comm.recv(in, peer, 4);
              }),
              0U);
    comm.barrier();
  }
}

TEST(MpiMessageMemory, IsNotNeededToKeepAMessageThatDoesNotFit) {
  const FerrompiBackend comm = backend();
  constexpr std::size_t count = 100'000;
  if (comm.rank() == 1) comm.send(std::vector<double>(count, 1.5), 0, 1);
  if (comm.rank() == 0) {
    std::vector<double> room(count - 1);
    {
      const ShortOfMemory all(10'000);
      EXPECT_THROW(comm.recv(room, 1, 1), InvalidBufferSize);
    }
    room.resize(count);
    comm.recv(room, 1, 1);
    EXPECT_EQ(room.back(), 1.5);
  }
  comm.barrier();
}

// It was in the buffer that is gone.
TEST(MpiMessageMemory, ThatLacksForTheMessageOfADroppedReceiveIsToldToTheNextOne) {
  const FerrompiBackend comm = backend();
  constexpr std::size_t count = 1000;
  if (comm.rank() == 1) {
    comm.channel(0, 1).send(std::vector<double>(count, 1.5));
    comm.channel(0, 2).send(1);
  }
  if (comm.rank() == 0) {
    const auto channel = comm.channel(1, 1);
    std::string warnings;
    set_warning_sink([&](std::string_view line) { warnings += line; });
    std::vector<double> room(count);
    std::optional dropped = channel.irecv(room);
    EXPECT_EQ(comm.channel(1, 2).recv<int>(), 1);
    {
      const ShortOfMemory for_it(1000);
      dropped.reset();
    }
    EXPECT_EQ(
        warnings,
        "irecv on rank 0 of 2: its receive was given up, and there is no memory to keep the message of 8000 bytes "
        "from rank 1 with tag 1; nothing more can be received from there");
    try {
      channel.recv(room);
      ADD_FAILURE() << "the message was lost, and nobody said so";
    } catch (const InvalidCommunicator& error) {
      EXPECT_NE(
          std::string(error.what()).find("rank 1: there was no memory to keep a message whose receive was given up"),
          std::string::npos)
          << error.what();
    }
    set_warning_sink([](std::string_view) {});  // at the end
  }
  comm.barrier();
}

TEST(MpiMessageMemory, ThatLacksForTheCopyOfASendIsAllocationFailed) {
  const FerrompiBackend comm = backend();
  const std::vector<double> message(100'000, 1.5);
  if (comm.rank() == 0) {
    const auto channel = comm.channel(1, 1);
    const ShortOfMemory all(10'000);
    try {
      channel.send(message, std::chrono::seconds(1));
      ADD_FAILURE() << "there was no memory for the copy";
    } catch (const AllocationFailed& error) {
      EXPECT_EQ(error.requested_bytes(), 800'000U);
      EXPECT_EQ(error.operation(), "send");
    }
  }
  comm.barrier();
}

}  // namespace
