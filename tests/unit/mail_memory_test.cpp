// A message that is to be kept, where there is no memory for it.

#include <cobre/comm.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/allocator.hpp"

namespace {

using cobre::comm::InvalidCommunicator;

// A message that is lost must not be taken for the one that was sent after it.
void drop_a_message_that_nothing_can_keep() {
  std::string warnings;
  cobre::comm::set_warning_sink([&](std::string_view line) { warnings += line; });
  const cobre::comm::LocalBackend comm;
  const auto channel = comm.channel(0, 1);
  constexpr std::size_t bytes = 1'000'000;
  std::optional unheard = channel.irecv(std::vector<std::byte>(bytes));
  channel.send(std::vector<std::byte>(bytes));
  channel.send(5);
  {
    const test::ShortOfMemory for_it(bytes - 1);
    unheard.reset();
  }
  EXPECT_EQ(
      warnings,
      "irecv on rank 0 of 1: its receive was given up, and there is no memory to keep the message of 1000000 bytes "
      "from rank 0 with tag 1; nothing more can be received from there");
  try {
    (void)channel.recv<int>();
    ADD_FAILURE() << "received a later one";
  } catch (const InvalidCommunicator& error) {
    EXPECT_NE(std::string(error.what()).find("there was no memory to keep a message whose receive was given up"),
              std::string::npos)
        << error.what();
  }
  cobre::comm::set_warning_sink([](std::string_view) {});  // of what is unread
}

TEST(MailMemory, ThatIsNotThereForAMessageThatWasLeftEndsWhatCanBeReceived) {
  std::thread(drop_a_message_that_nothing_can_keep).join();  // whose messages to itself are its own
  cobre::comm::set_warning_sink({});
}

}  // namespace
