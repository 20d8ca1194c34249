// Those who do not belong: they cannot join, crash, read or spoof a job, and the delay that they cause is bounded.

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/owner.hpp"
#include "comm/backends/tcp/reception.hpp"
#include "support/tcp_ranks.hpp"

namespace {

using namespace cobre::comm::tcp;
using cobre::comm::core::Descriptor;
using test::start_connecting;
using test::tcp_configs;
using namespace std::chrono_literals;

Address address_of(const cobre::comm::TcpConfig& config) {
  return resolve(config.coordinator, config.port).addresses.at(0);
}

// Connects as soon as rank 0 listens.
Descriptor knock(const Address& address) {
  for (int attempt = 0; attempt < 500; ++attempt) {
    Opened opened = open_connection(address, std::nullopt, Clock::now() + 1s);
    if (opened.socket) return std::move(opened.socket);
    std::this_thread::sleep_for(10ms);
  }
  ADD_FAILURE() << "rank 0 never listened";
  return {};
}

std::string all_that_comes(int socket, std::chrono::milliseconds longest) {
  std::string words;
  char byte = 0;
  while (receive_all(socket, std::as_writable_bytes(std::span(&byte, 1)), Clock::now() + longest)) words += byte;
  return words;
}

// A job of two whose second rank comes late, and what a stranger does meanwhile.
void expect_a_job_to_survive(const std::function<void(const Address&)>& stranger,
                             std::chrono::milliseconds longest = 5s) {
  const auto configs = tcp_configs(2, [](auto& config) { config.connect_timeout = 20s; });
  auto first = start_connecting({configs[0]});
  stranger(address_of(configs[0]));
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

// Passes a handshake on between a connector and the door, and keeps what the connector said.
std::string relay(int connector, int door) {
  std::string said;
  const auto pass = [](int from, int to, std::size_t bytes) {
    std::string frame(bytes, '\0');
    EXPECT_TRUE(receive_all(from, std::as_writable_bytes(std::span(frame)), Clock::now() + 2s));
    EXPECT_TRUE(send_all(to, std::as_bytes(std::span(frame)), Clock::now() + 2s));
    return frame;
  };
  said += pass(connector, door, sizeof(Challenge));
  (void)pass(door, connector, sizeof(Response));
  said += pass(connector, door, sizeof(Proof));
  (void)pass(door, connector, sizeof(Admission));
  return said;
}

// A door that admits whoever proves to know the key, for as long as `visit` lasts; how many it admitted.
std::size_t admitted_during(const Key& key, const std::function<void(const Address&)>& visit) {
  Address here = resolve("127.0.0.1", 0).addresses.at(0);
  std::vector<Descriptor> doors;
  doors.push_back(open_listener(here, 8).socket);
  here = Address::local_of(doors.front().get());
  Reception reception(key, std::move(doors), 8);
  std::atomic<bool> over{false};
  std::thread visitor([&] {
    visit(here);
    over = true;
  });
  std::size_t guests = 0;
  while (!over) {
    for (const Guest& guest : reception.serve()) {
      ++guests;
      (void)send_all(guest.socket.get(), raw(guest.admission), Clock::now() + 1s);
    }
    std::this_thread::sleep_for(1ms);
  }
  visitor.join();
  return guests;
}

// Everything that a true rank once said, word for word.
TEST(TcpStranger, WhoRepeatsWhatARankSaidIsNotAdmitted) {
  const Key key = key_from_secret("the job");
  const std::size_t guests = admitted_during(key, [&](const Address& door) {
    Address middle = resolve("127.0.0.1", 0).addresses.at(0);
    const Descriptor listener = std::move(open_listener(middle, 1).socket);
    middle = Address::local_of(listener.get());
    std::thread true_rank([&] {
      const Descriptor socket = knock(middle);
      EXPECT_EQ(introduce(socket.get(), key, Purpose::Join, 1, 0, Clock::now() + 2s).refusal, Refusal::None);
    });
    EXPECT_TRUE(await(listener.get(), POLLIN, Clock::now() + 2s));
    const Descriptor connector(accept(listener.get(), nullptr, nullptr));
    const Descriptor to_door = knock(door);
    const std::string said = relay(connector.get(), to_door.get());
    true_rank.join();

    const Descriptor again = knock(door);
    EXPECT_TRUE(send_all(again.get(), std::as_bytes(std::span(said)), Clock::now() + 1s));
    EXPECT_EQ(all_that_comes(again.get(), 500ms).size(), sizeof(Response));
  });
  EXPECT_EQ(guests, 1U);
}

TEST(TcpStranger, OfAnEarlierJobWithTheSameSecretCannotLinkToThisOne) {
  const Key secret = key_from_secret("one secret for two jobs");
  const Bytes32 first = random_bytes();
  const Bytes32 second = random_bytes();
  const Key old_links = authenticate(secret, {label("cobre-comm tcp: links of job"), raw(first)});
  const Key new_links = authenticate(secret, {label("cobre-comm tcp: links of job"), raw(second)});
  const std::size_t guests = admitted_during(new_links, [&](const Address& door) {
    const Descriptor socket = knock(door);
    EXPECT_EQ(introduce(socket.get(), old_links, Purpose::Data, 1, 0, Clock::now() + 2s).refusal, Refusal::Stranger);
  });
  EXPECT_EQ(guests, 0U);
}

// While a job runs: strangers at every port that it has.
TEST(TcpStranger, DoesNotDisturbAJobThatRuns) {
  auto configs = tcp_configs(3);
  auto ranks = test::start_ranks(configs, [](const cobre::comm::TcpBackend& comm) -> std::string {
    const auto until = Clock::now() + 1s;
    int rounds = 0;
    // Rank 0's clock decides for all.
    while (comm.broadcast(Clock::now() < until, 0)) {
      if (comm.allreduce(1, cobre::comm::ReduceOp::Sum) != 3) return "wrong";
      ++rounds;
    }
    return rounds > 10 ? "fine" : "stalled";
  });
  const auto until = Clock::now() + 1s;
  const std::string noise(4096, '\x5a');
  while (Clock::now() < until) {
    // The rendezvous is closed, and what is still open gives nothing away.
    const Opened opened = open_connection(address_of(configs[0]), std::nullopt, Clock::now() + 100ms);
    if (opened.socket) (void)send_all(opened.socket.get(), std::as_bytes(std::span(noise)), Clock::now() + 10ms);
    std::this_thread::sleep_for(1ms);
  }
  for (auto& rank : ranks) EXPECT_EQ(rank.words(), "fine");
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
    doors.push_back(open_listener(address_of(configs[0]), 8).socket);
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
