// Those who do not belong: they cannot join, crash, read or spoof a job, and the delay that they cause is bounded.

#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/owner.hpp"
#include "comm/backends/tcp/reception.hpp"
#include "support/tcp_ranks.hpp"
#include "unit/tcp_visits.hpp"

namespace {

using namespace cobre::comm::tcp;
using cobre::comm::core::Descriptor;
using test::all_that_comes;
using test::coordinator_address;
using test::knock;
using test::start_connecting;
using test::tcp_configs;
using namespace std::chrono_literals;

// A job of two whose second rank comes late, and what a stranger does meanwhile.
void expect_a_job_to_survive(const std::function<void(const Address&)>& stranger,
                             std::chrono::milliseconds longest = 5s) {
  const auto configs = tcp_configs(2, [](auto& config) { config.connect_timeout = 20s; });
  auto first = start_connecting({configs[0]});
  stranger(coordinator_address(configs[0]));
  const auto begin = Clock::now();
  auto second = start_connecting({configs[1]});
  EXPECT_EQ(first[0].words(), "fine");
  EXPECT_EQ(second[0].words(), "fine");
  EXPECT_LT(Clock::now() - begin, longest);
}

// Rank 0 is gone before rank 1 gives up: whom that one met counts, not that nobody was there at last.
TEST(TcpStranger, WithAnotherSecretCannotJoin) {
  auto configs = tcp_configs(2, [](auto& config) { config.connect_timeout = 1s; });
  configs[1].connect_timeout = 2500ms;
  configs[1].secret.value = "guess";
  auto ranks = start_connecting(configs);
  const std::string zero = ranks[0].words();
  EXPECT_NE(zero.find("rank 1 did not come"), std::string::npos) << zero;
  EXPECT_NE(zero.find("did not prove that they know the job's secret"), std::string::npos) << zero;
  const std::string one = ranks[1].words();
  EXPECT_NE(one.find("does not know the job's secret"), std::string::npos) << one;
  EXPECT_EQ(one.find("guess"), std::string::npos);
}

TEST(TcpStranger, WhoScansThePortIsIgnored) {
  expect_a_job_to_survive([](const Address& address) {
    for (int i = 0; i < 200; ++i) (void)knock(address);
  });
}

TEST(TcpStranger, WhoTalksNonsenseIsCutOffWithoutAWord) {
  expect_a_job_to_survive([](const Address& address) {
    for (const std::string& words : {std::string("GET / HTTP/1.1\r\nHost: here\r\n\r\n") + std::string(100, ' '),
                                     std::string(100'000, '\xff'), std::string(56, '\0')}) {
      const Descriptor socket = knock(address);
      (void)send_all(socket.get(), std::as_bytes(std::span(words)), Clock::now() + 1s);
      EXPECT_EQ(all_that_comes(socket.get(), 3s), "");
    }
  });
}

TEST(TcpStranger, WhoSaysNothingIsDroppedAndDelaysNobody) {
  std::vector<Descriptor> silent;
  expect_a_job_to_survive([&](const Address& address) {
    for (int i = 0; i < 300; ++i) silent.push_back(knock(address));
  });
}

// A byte now and then, for ever: its time is counted from the first.
TEST(TcpStranger, WhoIsSlowOnPurposeIsDroppedAfterTwoSeconds) {
  expect_a_job_to_survive([](const Address& address) {
    const Descriptor socket = knock(address);
    const Challenge challenge;
    const auto bytes = raw(challenge);
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < 40; ++i) {
      if (!send_all(socket.get(), bytes.subspan(i, 1), Clock::now() + 1s)) break;
      std::this_thread::sleep_for(100ms);
      char byte = 0;
      std::size_t got = 0;
      if (receive_some(socket.get(), std::as_writable_bytes(std::span(&byte, 1)), got) == Moved::Closed) break;
    }
    EXPECT_LT(Clock::now() - begin, 3s);
  });
}

// It knows the secret, as a program of the same user that is no rank may.
TEST(TcpStranger, WhoProvesToBelongAndThenDoesNotSayWhichRankItIsIsDroppedAfterTwoSeconds) {
  const auto configs = tcp_configs(2, [](auto& config) { config.connect_timeout = 20s; });
  auto first = start_connecting({configs[0]});
  const test::Proven silent = test::prove(configs[1]);
  const test::Proven slow = test::prove(configs[1]);
  const auto begin = Clock::now();
  while (Clock::now() - begin < 1500ms) {
    (void)send_all(slow.socket.get(), std::as_bytes(std::span("x", 1)), Clock::now() + 1s);
    std::this_thread::sleep_for(50ms);
    EXPECT_FALSE(test::hung_up(silent.socket.get()));
  }
  EXPECT_EQ(all_that_comes(silent.socket.get(), 3s), "");
  EXPECT_EQ(all_that_comes(slow.socket.get(), 3s), "");
  EXPECT_LT(Clock::now() - begin, 3s);
  auto second = start_connecting({configs[1]});
  EXPECT_EQ(first[0].words(), "fine");
  EXPECT_EQ(second[0].words(), "fine");
}

TEST(TcpStranger, WhoGuessesTheProofIsNotAdmitted) {
  expect_a_job_to_survive([](const Address& address) {
    const Descriptor socket = knock(address);
    Challenge challenge;
    challenge.from = 1;
    challenge.nonce = random_bytes();
    Response response;
    ASSERT_TRUE(send_all(socket.get(), raw(challenge), Clock::now() + 1s));
    ASSERT_TRUE(receive_all(socket.get(), std::as_writable_bytes(std::span(&response, 1)), Clock::now() + 1s));
    // Rank 0's own proof, sent back to it, is none.
    ASSERT_TRUE(send_all(socket.get(), raw(Proof{response.proof}), Clock::now() + 1s));
    EXPECT_EQ(all_that_comes(socket.get(), 3s), "");
  });
}

// Without a secret the key is no secret: then the kernel tells who is who.
constexpr uid_t somebody_else = 65534;

TEST(TcpOwner, IsKnownAtBothEndsOverEveryKindOfSocketWhileItIsOpen) {
  const std::vector<std::pair<std::string, std::string>> ways{
      {"127.0.0.1", "127.0.0.1"}, {"::1", "::1"}, {"127.0.0.1", "::ffff:127.0.0.1"}};
  for (const auto& [host, reached_as] : ways) {
    const Opened door = open_listener(resolve(host, 0).addresses.at(0), 1);
    ASSERT_TRUE(door.socket) << host;
    Address address = resolve(reached_as, 0).addresses.at(0);
    address.set_port(Address::local_of(door.socket.get()).port());
    Opened near = open_connection(address, std::nullopt, Clock::now() + 1s);
    ASSERT_TRUE(near.socket) << reached_as;
    const Descriptor far(accept4(door.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_EQ(owner_of_other_end(near.socket.get()), geteuid()) << host << " as " << reached_as;
    EXPECT_EQ(owner_of_other_end(far.get()), geteuid()) << host << " as " << reached_as;
    const Address one = Address::local_of(near.socket.get());
    const Address other = Address::local_of(far.get());
    EXPECT_EQ(owner_in_tables(one, other), geteuid()) << host << " as " << reached_as;
    EXPECT_EQ(owner_in_tables(other, one), geteuid()) << host << " as " << reached_as;
    near.socket = Descriptor();
    EXPECT_EQ(owner_of_other_end(far.get()), std::nullopt) << "nobody's sockets look like root's";
    EXPECT_EQ(owner_in_tables(one, other), std::nullopt) << "nobody's sockets look like root's";
  }
}

TEST(TcpStranger, OfAnotherUserCannotJoinAJobWithoutASecret) {
  ASSERT_EQ(geteuid(), 0U) << "needs root, to be somebody else";
  for (const std::size_t stranger : {std::size_t{0}, std::size_t{1}}) {
    auto configs = tcp_configs(2, [](auto& config) {
      config.secret = {};
      config.connect_timeout = 700ms;
    });
    std::vector<test::Process> ranks;
    for (const auto& config : configs) {
      ranks.emplace_back([&]() -> std::string {
        if (config.rank == stranger && setuid(somebody_else) != 0) return "still root";
        try {
          (void)cobre::comm::TcpBackend::connect(config);
          return "joined";
        } catch (const std::exception& error) {
          return error.what();
        }
      });
    }
    const std::string zero = ranks[0].words();
    const std::string expected = stranger == 0
                                     ? "a process of user 0 was turned away, because this one is user 65534's"
                                     : "a process of user 65534 was turned away, because this one is user 0's";
    EXPECT_NE(zero.find(expected), std::string::npos) << zero;
    EXPECT_NE(ranks[1].words(), "joined");
  }
}

TEST(TcpStranger, OfAnotherUserIsNotTakenForRankZeroWithoutASecret) {
  ASSERT_EQ(geteuid(), 0U) << "needs root, to be somebody else";
  auto configs = tcp_configs(2, [](auto& config) {
    config.secret = {};
    config.connect_timeout = 700ms;
  });
  struct Board {
    std::atomic<bool> tried{false};
  };
  test::Shared<Board> board;
  // It knows what everyone knows, and would let anybody in.
  test::Process impostor([&]() -> std::string {
    if (setuid(somebody_else) != 0) return "still root";
    std::vector<Descriptor> doors;
    doors.push_back(open_listener(coordinator_address(configs[0]), 8).socket);
    Reception reception(job_key(configs[0]), std::move(doors), 8);
    for (; !board->tried; std::this_thread::sleep_for(1ms)) {
      for (Guest& guest : reception.serve())
        (void)send_all(guest.socket.get(), raw(guest.admission), Clock::now() + 1s);
    }
    return "done";
  });
  auto rank = start_connecting({configs[1]});
  const std::string words = rank[0].words();
  board->tried = true;
  EXPECT_NE(words.find("another user than 0 listens at"), std::string::npos) << words;
  EXPECT_EQ(impostor.words(), "done");
}

TEST(TcpStranger, IsNotWhoStartedTheOtherRanksToo) {
  auto ranks = start_connecting(tcp_configs(3, [](auto& config) { config.secret = {}; }));
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
}

}  // namespace
