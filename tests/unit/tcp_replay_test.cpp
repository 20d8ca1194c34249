// What was said once, word for word, is of no use a second time: to nobody, in no direction, in no other job.

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/reception.hpp"
#include "comm/backends/tcp/rendezvous.hpp"
#include "support/tcp_ranks.hpp"
#include "unit/tcp_visits.hpp"

namespace {

using namespace cobre::comm::tcp;
using cobre::comm::core::Descriptor;
using test::all_that_comes;
using test::knock;
using namespace std::chrono_literals;

// A door of whoever stands between two ranks.
struct Middle {
  Middle() : listener(open_listener(resolve("127.0.0.1", 0).addresses.at(0), 8).socket) {}

  [[nodiscard]] Address address() const { return Address::local_of(listener.get()); }
  [[nodiscard]] Descriptor next_visitor() const {
    EXPECT_TRUE(await(listener.get(), POLLIN, Clock::now() + 2s)) << "nobody came";
    return Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  }
  Descriptor listener;
};

std::string pass_on(int from, int to, std::size_t bytes) {
  std::string frame(bytes, '\0');
  EXPECT_TRUE(receive_all(from, std::as_writable_bytes(std::span(frame)), Clock::now() + 2s));
  EXPECT_TRUE(send_all(to, std::as_bytes(std::span(frame)), Clock::now() + 2s));
  return frame;
}

// A handshake that passes through the middle, and what each end said in it.
struct Overheard {
  std::string connector;
  std::string door;
};
Overheard relay_handshake(int connector, int door) {
  Overheard said;
  said.connector += pass_on(connector, door, sizeof(Challenge));
  said.door += pass_on(door, connector, sizeof(Response));
  said.connector += pass_on(connector, door, sizeof(Proof));
  said.door += pass_on(door, connector, sizeof(Admission));
  return said;
}

Refusal introduce_at(const Address& address, const Key& key, Purpose purpose = Purpose::Join) {
  const Descriptor socket = knock(address);
  return introduce(socket.get(), key, purpose, 1, 0, Clock::now() + 2s).refusal;
}

Overheard overhear(const Address& door, const Key& key) {
  const Middle middle;
  std::thread true_rank([&] { EXPECT_EQ(introduce_at(middle.address(), key), Refusal::None); });
  const Descriptor connector = middle.next_visitor();
  const Descriptor to_door = knock(door);
  Overheard said = relay_handshake(connector.get(), to_door.get());
  true_rank.join();
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

TEST(TcpReplay, OfWhatARankSaidAdmitsNobody) {
  const Key key = key_from_secret("the job");
  const std::size_t guests = admitted_during(key, [&](const Address& door) {
    const Overheard said = overhear(door, key);
    const Descriptor again = knock(door);
    EXPECT_TRUE(send_all(again.get(), std::as_bytes(std::span(said.connector)), Clock::now() + 1s));
    EXPECT_EQ(all_that_comes(again.get(), 500ms).size(), sizeof(Response));
  });
  EXPECT_EQ(guests, 1U);
}

TEST(TcpReplay, OfWhatRankZeroSaidMakesNobodyRankZero) {
  const Key key = key_from_secret("the job");
  Overheard said;
  EXPECT_EQ(admitted_during(key, [&](const Address& door) { said = overhear(door, key); }), 1U);
  const Middle false_rank_zero;
  std::thread deceiver([&] {
    const Descriptor visitor = false_rank_zero.next_visitor();
    EXPECT_TRUE(send_all(visitor.get(), std::as_bytes(std::span(said.door)), Clock::now() + 1s));
    // Nor does it learn the proof of the rank, with which it could go to the true one.
    EXPECT_EQ(all_that_comes(visitor.get(), 2s).size(), sizeof(Challenge));
  });
  EXPECT_EQ(introduce_at(false_rank_zero.address(), key), Refusal::Stranger);
  deceiver.join();
}

TEST(TcpReplay, OfAnEarlierJobWithTheSameSecretLinksToNobodyOfThisOne) {
  const Key secret = key_from_secret("one secret for two jobs");
  const Key old_links = link_key_of(secret, random_bytes());
  const Key new_links = link_key_of(secret, random_bytes());
  const std::size_t guests = admitted_during(new_links, [&](const Address& door) {
    EXPECT_EQ(introduce_at(door, old_links, Purpose::Data), Refusal::Stranger);
    EXPECT_EQ(introduce_at(door, secret, Purpose::Data), Refusal::Stranger) << "the secret alone is no link's key";
  });
  EXPECT_EQ(guests, 0U);
}

TEST(TcpSeal, HoldsForOneFrameOfOneDirectionInOnePlaceOfOneSession) {
  const Key session = random_bytes();
  Reply reply;
  reply.text.say("as it was sent");
  auto frame = sealed(session, {Direction::FromRankZero, 3}, reply);
  EXPECT_TRUE(seal_holds(session, {Direction::FromRankZero, 3}, frame));
  EXPECT_FALSE(seal_holds(session, {Direction::FromRankZero, 2}, frame));
  EXPECT_FALSE(seal_holds(session, {Direction::FromRankZero, 4}, frame));
  EXPECT_FALSE(seal_holds(session, {Direction::ToRankZero, 3}, frame));
  EXPECT_FALSE(seal_holds(random_bytes(), {Direction::FromRankZero, 3}, frame));
  frame.body.rank = 1;
  EXPECT_FALSE(seal_holds(session, {Direction::FromRankZero, 3}, frame));
}

// Rank 0 waits for a third rank, and has told the second that it is accepted: who stands between says so once more.
TEST(TcpReplay, OfASealedFrameIsNoticed) {
  const Middle middle;
  auto configs = test::tcp_configs(3, [](auto& config) { config.connect_timeout = 4s; });
  const Address rank_zero = test::coordinator_address(configs[0]);
  configs[1].coordinator = middle.address().text();
  auto ranks = test::start_connecting({configs[0], configs[1]});
  const Descriptor rank = middle.next_visitor();
  const Descriptor door = knock(rank_zero);
  (void)relay_handshake(rank.get(), door.get());
  (void)pass_on(rank.get(), door.get(), sizeof(Sealed<Member>));
  const std::string accepted = pass_on(door.get(), rank.get(), sizeof(Sealed<Reply>));
  EXPECT_TRUE(send_all(rank.get(), std::as_bytes(std::span(accepted)), Clock::now() + 1s));
  const std::string words = ranks[1].words();
  EXPECT_NE(words.find("rank 0 sent something else than expected"), std::string::npos) << words;
  ranks[0].signal(SIGKILL);
}

}  // namespace
