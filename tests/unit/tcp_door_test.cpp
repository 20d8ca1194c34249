// The doors of a job while strangers crowd before them: when it starts, and as long as it runs.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <deque>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/backends/tcp/reception.hpp"
#include "comm/backends/tcp/sentinel.hpp"
#include "comm/backends/tcp/wire.hpp"
#include "support/tcp_ranks.hpp"
#include "unit/tcp_visits.hpp"

namespace {

using namespace cobre::comm::tcp;
using cobre::comm::core::Descriptor;
using test::knock;
using test::tcp_configs;
using namespace std::chrono_literals;

TEST(TcpDoor, MakesRoomForTheNewestByTurningAwayWhoHasBeenSilentForLongest) {
  constexpr std::size_t places = 4;
  std::vector<Descriptor> listeners;
  listeners.push_back(open_listener(resolve("127.0.0.1", 0).addresses.at(0), 8).socket);
  const Address door = Address::local_of(listeners.front().get());
  Reception reception(key_from_secret("the job"), std::move(listeners), places);
  std::vector<Descriptor> visitors;
  const auto come = [&] {
    visitors.push_back(knock(door));
    EXPECT_TRUE(reception.serve().empty());
  };
  const auto turned_away = [&] {
    std::vector<std::size_t> those;
    for (std::size_t i = 0; i < visitors.size(); ++i) {
      if (test::hung_up(visitors[i].get())) those.push_back(i);
    }
    return those;
  };
  while (visitors.size() < places) come();
  EXPECT_EQ(turned_away(), std::vector<std::size_t>{});
  come();
  EXPECT_EQ(turned_away(), std::vector<std::size_t>{0});
  come();
  EXPECT_EQ(turned_away(), (std::vector<std::size_t>{0, 1}));
}

struct Door {
  explicit Door(std::size_t places) {
    std::vector<Descriptor> listeners;
    listeners.push_back(open_listener(resolve("127.0.0.1", 0).addresses.at(0), 256).socket);
    address = Address::local_of(listeners.front().get());
    listener = listeners.front().get();
    reception.emplace(key, std::move(listeners), places);
  }
  /// Comes, and says the first thing that a rank says, which needs no secret.
  [[nodiscard]] Descriptor speak() const {
    Descriptor socket = knock(address);
    Challenge challenge;
    challenge.nonce = random_bytes();
    EXPECT_TRUE(send_all(socket.get(), raw(challenge), Clock::now() + 1s));
    return socket;
  }
  void serve() {
    // What was sent to this very machine is there at once.
    for (Guest& guest : reception->serve()) guests.push_back(std::move(guest));
  }

  /// The next one who comes.
  [[nodiscard]] bool turn_away() const {
    pollfd entry{.fd = listener, .events = POLLIN, .revents = 0};
    return poll(&entry, 1, 1000) > 0 && Descriptor(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  }

  const Key key = key_from_secret("the job");
  Address address;
  int listener = -1;
  std::optional<Reception> reception;
  std::vector<Guest> guests;
};

TEST(TcpDoor, KeepsWhoHasSpokenHoweverManyComeWhoDoNot) {
  Door door(8);
  const Descriptor rank = door.speak();
  door.serve();
  Response response;
  ASSERT_TRUE(receive_all(rank.get(), std::as_writable_bytes(std::span(&response, 1)), Clock::now() + 5s));
  std::vector<Descriptor> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(knock(door.address));
    door.serve();
  }
  EXPECT_FALSE(test::hung_up(rank.get()));
}

TEST(TcpDoor, KeepsWhoIsAboutToSpeakHoweverManyCameWhoHave) {
  Door door(8);
  std::vector<Descriptor> others;
  const auto come_and_speak = [&] {
    others.push_back(door.speak());
    door.serve();
  };
  for (int i = 0; i < 50; ++i) come_and_speak();
  const Descriptor rank = knock(door.address);
  door.serve();
  for (int i = 0; i < 3; ++i) come_and_speak();
  EXPECT_FALSE(test::hung_up(rank.get()));
}

// More than there are places stand before the door when the rank has said its last word.
TEST(TcpDoor, HearsWhoIsInBeforeItLetsOthersIn) {
  Door door(8);
  const Descriptor rank = knock(door.address);
  Introducing introducing(door.key, Purpose::Data, 3, 0);
  EXPECT_FALSE(introducing.advance(rank.get()));  // its challenge
  door.serve();
  EXPECT_FALSE(introducing.advance(rank.get()));  // its proof
  std::vector<Descriptor> others;
  for (int i = 0; i < 60; ++i) others.push_back(door.speak());
  door.serve();
  ASSERT_EQ(door.guests.size(), 1U);
  std::size_t sent = 0;
  EXPECT_EQ(send_some(door.guests[0].socket.get(), raw(door.guests[0].admission), sent), Moved::All);
  EXPECT_TRUE(introducing.advance(rank.get()));
  EXPECT_EQ(introducing.result().refusal, Refusal::None);
}

// As a door does that has no place left: the first ten times it lets nobody in.
TEST(TcpDoor, ThatHangsUpIsTriedAgain) {
  constexpr std::size_t size = 2;
  Door door(8);
  Gathering gathering;
  gathering.link_key = door.key;
  gathering.members.resize(size);
  gathering.members[0].door = door.address.to_wire();
  Ledger ledger(-1);
  Sentinel sentinel({.rank = 1,
                     .size = size,
                     .link_key = door.key,
                     .timeout = 0ms,
                     .warn_after = 10s,
                     .host_timeout = 10s,
                     .members = gathering.members},
                    {}, ledger);
  Wire wire(1, gathering, sentinel, cobre::comm::core::wait_policy(size, 1), 10s);
  std::atomic<bool> over{false};
  std::thread doorman([&] {
    for (int count = 0; count < 10 && !over; ++count) (void)door.turn_away();
    while (door.guests.empty() && !over) door.serve();
    std::size_t sent = 0;
    for (const Guest& guest : door.guests) (void)send_some(guest.socket.get(), raw(guest.admission), sent);
  });
  EXPECT_EQ(wire.open(0, Clock::time_point::max()), std::nullopt);
  over = true;
  doorman.join();
}

// From before the ranks come until all are there: whoever stays until its time is over takes a place from them.
TEST(TcpDoor, IsFoundByTheRanksOfAJobDuringAFlood) {
  struct Board {
    std::atomic<int> knocks{0};
    std::atomic<bool> over{false};
  };
  const test::Shared<Board> board;
  const auto configs = tcp_configs(4, [](auto& config) { config.connect_timeout = 20s; });
  auto ranks = test::start_connecting({configs[0]});
  test::Process flood([&]() -> std::string {
    std::vector<Descriptor> silent;
    const Address door = test::coordinator_address(configs[0]);
    const auto end = Clock::now() + 8s;
    while (!board->over && board->knocks < 40'000 && Clock::now() < end) {
      Opened opened = open_connection(door, std::nullopt, Clock::now() + 100ms);
      if (opened.socket) silent.push_back(std::move(opened.socket));
      // Who is not turned away keeps its place.
      if (++board->knocks % 100 == 0) std::erase_if(silent, [](const auto& one) { return test::hung_up(one.get()); });
      std::this_thread::sleep_for(100us);
    }
    return "over";
  });
  ASSERT_TRUE(test::eventually([&] { return board->knocks >= 200; }));
  const auto begin = Clock::now();
  for (auto& rank : test::start_connecting({configs[1], configs[2], configs[3]})) ranks.push_back(std::move(rank));
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
  EXPECT_LT(Clock::now() - begin, 4s);
  board->over = true;
  EXPECT_EQ(flood.words(), "over");
}

// Where this process listens.
std::vector<Address> doors_of_this_process() {
  std::vector<Address> doors;
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    int listens = 0;
    socklen_t length = sizeof listens;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) continue;
    if (const Address address = Address::local_of(descriptor); address.port() != 0) doors.push_back(address);
  }
  return doors;
}

constexpr std::size_t ranks_with_open_doors = 8;  // so many that each may still be visited by one that it does not know

struct JobBoard {
  std::array<Address::Wire, ranks_with_open_doors> doors{};
  std::atomic<std::size_t> at_work{0};
  std::atomic<bool> over{false};
};

// Works until it is told that the strangers have come, and then with those whom it had no link to.
std::string work(const cobre::comm::TcpBackend& comm, JobBoard& board) {
  const auto doors = doors_of_this_process();
  if (doors.size() != 1) return "listens at " + std::to_string(doors.size()) + " addresses";
  board.doors[comm.rank()] = doors.front().to_wire();
  ++board.at_work;
  // What rank 0 sees counts for all.
  while (comm.broadcast(!board.over, 0)) {
    if (comm.allreduce(1, cobre::comm::ReduceOp::Sum) != static_cast<int>(comm.size())) return "wrong sum";
  }
  std::vector<std::size_t> to(comm.size(), comm.rank());
  std::vector<std::size_t> from(comm.size());
  comm.alltoall(to, from);
  std::vector<std::size_t> everyone(comm.size());
  std::iota(everyone.begin(), everyone.end(), std::size_t{0});
  return from == everyone ? "fine" : "wrong blocks";
}

TEST(TcpDoor, OfARankThatIsAtWorkGivesNothingAwayAndLetsThoseInWhoBelong) {
  const test::Shared<JobBoard> board;
  const auto configs = tcp_configs(ranks_with_open_doors);
  auto ranks = test::start_ranks(configs, [&](const cobre::comm::TcpBackend& comm) { return work(comm, *board); });
  ASSERT_TRUE(test::eventually([&] { return board->at_work == ranks_with_open_doors; })) << ranks[0].words();
  std::vector<Descriptor> silent;
  const std::string noise(4096, '\x5a');
  for (const Address::Wire& wire : board->doors) {
    const auto door = Address::from_wire(wire);
    ASSERT_TRUE(door);
    for (int i = 0; i < 10; ++i) {
      const Descriptor socket = knock(*door);
      (void)send_all(socket.get(), std::as_bytes(std::span(noise)), Clock::now() + 1s);
      EXPECT_EQ(test::all_that_comes(socket.get(), 3s), "");
    }
    for (int i = 0; i < 110; ++i) silent.push_back(knock(*door));  // more than there are places
  }
  board->over = true;
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

// While the ranks connect that do not know each other yet, there are always more strangers before the door of rank 0
// than it has places. They can delay that, and not end it.
TEST(TcpDoor, OfARankThatIsAtWorkIsFoundDuringAFlood) {
  struct Flood {
    std::atomic<int> knocks{0};
    std::atomic<bool> over{false};
  };
  const test::Shared<JobBoard> board;
  const test::Shared<Flood> flood;
  const auto configs = tcp_configs(ranks_with_open_doors);
  auto ranks = test::start_ranks(configs, [&](const cobre::comm::TcpBackend& comm) { return work(comm, *board); });
  ASSERT_TRUE(test::eventually([&] { return board->at_work == ranks_with_open_doors; })) << ranks[0].words();
  std::vector<test::Process> strangers;
  for (int i = 0; i < 2; ++i) {
    strangers.emplace_back([&]() -> std::string {
      const auto door = Address::from_wire(board->doors[0]);
      if (!door) return "no door";
      std::deque<Descriptor> silent;
      const auto end = Clock::now() + 8s;
      while (!flood->over && flood->knocks < 200'000 && Clock::now() < end) {
        Descriptor one(socket(door->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (one) (void)connect(one.get(), door->get(), door->length());  // and on to the next, without waiting for it
        silent.push_back(std::move(one));
        if (silent.size() > 400) silent.pop_front();
        ++flood->knocks;
      }
      return "over";
    });
  }
  EXPECT_TRUE(test::eventually([&] { return flood->knocks >= 1000; }));
  board->over = true;
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
  flood->over = true;
  for (auto& stranger : strangers) EXPECT_EQ(stranger.words(), "over");
}

TEST(TcpDoor, OfTheRendezvousIsClosedOnceAllAreThere) {
  const test::Shared<JobBoard> board;
  const auto configs = tcp_configs(3);
  auto ranks = test::start_ranks(configs, [&](const cobre::comm::TcpBackend&) -> std::string {
    ++board->at_work;
    return test::eventually([&] { return board->over.load(); }) ? "fine" : "forgotten";
  });
  ASSERT_TRUE(test::eventually([&] { return board->at_work == configs.size(); })) << ranks[0].words();
  const Opened opened = open_connection(test::coordinator_address(configs[0]), std::nullopt, Clock::now() + 1s);
  EXPECT_FALSE(opened.socket);
  EXPECT_EQ(opened.error, ECONNREFUSED);
  board->over = true;
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

}  // namespace
