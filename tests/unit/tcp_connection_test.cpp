// Connections that nobody takes, and those between two sentinels.

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "comm/backends/tcp/address.hpp"
#include "comm/backends/tcp/control_link.hpp"
#include "comm/backends/tcp/notices.hpp"
#include "comm/backends/tcp/sockets.hpp"
#include "comm/core/descriptor.hpp"
#include "comm/core/fiber.hpp"
#include "comm/core/progress.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;
using namespace std::chrono_literals;

// A machine that takes no connection and does not say so either: its queue is full.
struct Silence {
  Silence() {
    listener = open_listener(resolve("127.0.0.1", 0).addresses.front(), 0).socket;
    address = Address::local_of(listener.get());
    for (;;) {
      Opened opened = open_connection(address, {}, Clock::now() + 300ms);
      if (!opened.socket) return;
      queue.push_back(std::move(opened.socket));
    }
  }
  core::Descriptor listener;
  Address address;
  std::vector<core::Descriptor> queue;
};

TEST(TcpConnection, ThatNobodyTakesIsGivenUpWhenItIsPointless) {
  const Silence there;
  const auto begin = Clock::now();
  int asked = 0;
  EXPECT_FALSE(open_connection(there.address, {}, begin + 20s, [&] { return ++asked == 3; }).socket);
  EXPECT_LT(Clock::now() - begin, 5s);
}

TEST(TcpConnection, ThatNobodyTakesLetsTheCallerOfAFiberGoOn) {
  const Silence there;
  const auto begin = Clock::now();
  std::function<void()> body = [&] {
    (void)open_connection(there.address, {}, begin + 500ms, [] {
      (void)core::give_way();
      return false;
    });
  };
  core::Fiber fiber;
  fiber.start([](void* argument) { (*static_cast<std::function<void()>*>(argument))(); }, &body);
  Clock::duration longest{};
  int turns = 0;
  for (; !fiber.done(); ++turns) {
    const auto resumed = Clock::now();
    fiber.resume();
    longest = std::max(longest, Clock::now() - resumed);
  }
  EXPECT_GT(turns, 10);
  EXPECT_LT(longest, 400ms);
}

struct Connection {
  Connection() {
    Opened listener = open_listener(resolve("127.0.0.1", 0).addresses.front(), 1);
    const Address there = Address::local_of(listener.socket.get());
    Opened opened = open_connection(there, {}, Clock::now() + 5s);
    near = std::move(opened.socket);
    far = core::Descriptor(accept4(listener.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  }
  core::Descriptor near;
  core::Descriptor far;
};

// The reader is behind, so that much of it is still with the sender; and something that nobody has read lies there too,
// because of which a mere close would throw away the rest.
TEST(TcpControlLink, HasSaidItsLastWordsBeforeItEnds) {
  Connection connection;
  constexpr std::size_t lines = 4000;  // more than the kernel takes before anybody reads
  std::size_t heard = 0;
  std::optional<NoticeKind> last;
  ControlLink reader(std::move(connection.far), 1);
  reader.send(notice(NoticeKind::Alive, Alive{}));
  {
    ControlLink speaker(std::move(connection.near), 0);
    for (std::size_t i = 0; i < lines; ++i) speaker.send(notice(NoticeKind::Warning, Warning{}));
    speaker.send(notice(NoticeKind::Verdict, Verdict{}));
    EXPECT_FALSE(speaker.parted());
    const auto deadline = Clock::now() + 10s;
    const auto hear = [&] {
      reader.receive([&](NoticeKind kind, auto, auto) {
        ++heard;
        last = kind;
      });
    };
    while (!speaker.parted() && Clock::now() < deadline) hear();
    EXPECT_LT(Clock::now(), deadline);
    while (!reader.lost() && Clock::now() < deadline) hear();
  }
  EXPECT_EQ(heard, lines + 1);
  EXPECT_EQ(last, NoticeKind::Verdict);
}

TEST(TcpControlLink, IsNotHeldUpByAPeerThatIsStopped) {
  Connection connection;
  ControlLink speaker(std::move(connection.near), 0);
  speaker.send(notice(NoticeKind::Verdict, Verdict{}));
  const auto deadline = Clock::now() + 10s;
  while (!speaker.parted() && Clock::now() < deadline) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(speaker.parted());  // nobody has read it, but its kernel has it
}

TEST(TcpControlLink, IsNotLostForAPeerThatReadsNothing) {
  Connection connection;
  ControlLink speaker(std::move(connection.near), 0);
  speaker.look_at_machine(Clock::now(), false, 100ms);
  for (int i = 0; i < 20; ++i) {
    speaker.send(notice(NoticeKind::Alive, Alive{}));
    std::this_thread::sleep_for(10ms);
    speaker.look_at_machine(Clock::now(), false, 100ms);
  }
  EXPECT_FALSE(speaker.lost());
}

}  // namespace
