#include "tcp_gathering.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/backends/tcp/config.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/hosts.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/rendezvous.hpp"
#include "input.hpp"
#include "tcp_parsers.hpp"

namespace fuzz {
namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;
using namespace std::chrono_literals;

// Another address for every job: connections of the last one may still be dying away.
std::string next_address() {
  static std::uint32_t jobs = 0;
  const auto drawn = static_cast<std::uint32_t>(getpid()) * 4096 + jobs++;
  return "127." + std::to_string(1 + drawn / 65536 % 254) + "." + std::to_string(drawn / 256 % 256) + "." +
         std::to_string(1 + drawn % 254);
}

TcpConfig config_of(const std::string& address, std::size_t rank) {
  TcpConfig config;
  config.coordinator = address;
  config.rank = rank;
  config.size = gathered;
  config.secret.value = "fuzz";
  // Who comes to rank 0 may never say what it should: it does not wait for long. Rank 1 hears the end.
  config.connect_timeout = rank == 0 ? 400ms : 4000ms;
  return config;
}

template <class Body>
Body changed(const Body& honest, std::span<const std::uint8_t> change) {
  Body body = honest;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(&body);
  for (std::size_t i = 0; i < std::min(change.size(), sizeof body); ++i) bytes[i] ^= change[i];
  return body;
}

// False where the rest of the conversation would make no sense any more.
bool say(int socket, std::span<const std::byte> frame, const Sending& how) {
  std::vector<std::byte> bytes(frame.begin(), frame.end());
  bytes[how.place % bytes.size()] ^= std::byte{how.by};
  const auto cut = static_cast<Cut>(how.cut % cuts);
  if (cut == Cut::NothingAtAll) return false;
  if (cut == Cut::Shorter) bytes.pop_back();
  return send_all(socket, bytes, Clock::now() + longest) && cut == Cut::None && how.by == 0;
}

template <class Body>
std::optional<Body> hear(int socket, const Key& key, SealNumber number) {
  Sealed<Body> frame;
  if (!receive_all(socket, std::as_writable_bytes(std::span(&frame, 1)), Clock::now() + longest)) return std::nullopt;
  if (!seal_holds(key, number, frame)) __builtin_trap();  // this side is honest
  return frame.body;
}

// As it presents itself, with a door that nobody will knock at.
const Member& honest_member(std::size_t rank) {
  static const std::vector<Member> all = [] {
    std::vector<Member> members(gathered, present(config_of("127.0.0.1", 0)));
    for (std::uint32_t i = 0; i < gathered; ++i) {
      members[i].rank = i;
      members[i].door = {.family = 4, .port = 4000, .scope = 0, .bytes = {127, 0, 0, 1}};
    }
    return members;
  }();
  return all[rank];
}

// As an endpoint does, which goes by what stands there without asking again.
void use(const Gathering& gathering, std::size_t rank) {
  if (gathering.members.size() != gathered || !is_table(gathering.members)) __builtin_trap();
  for (const Member& member : gathering.members) {
    (void)Address::from_wire(member.door)->text();
    (void)member.host_name.words();
  }
  if (find_hosts(gathering.members, rank).list.empty()) __builtin_trap();
}

// Nothing of what came may reach a terminal as it is.
void check_words(const std::exception& error) {
  const std::string words = error.what();
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (words.empty() || std::ranges::any_of(words, is_control)) __builtin_trap();
}

// Whatever comes of it is an error that says so.
template <class Rank>
void survive(Rank&& rank) {
  try {
    rank();
  } catch (const PeerFailed& error) {
    if (error.rank() >= gathered) __builtin_trap();
    check_words(error);
  } catch (const CommError& error) {
    check_words(error);
  } catch (const BackendError& error) {
    check_words(error);
  }
}

// ---- rank 0 -------------------------------------------------------------------------------------------------------

struct Visitor {
  Visit visit;
  std::size_t rank = 0;
  core::Descriptor socket;
  Session session;
};

core::Descriptor go_to_door(const Address& door, const std::atomic<bool>& over) {
  while (!over) {
    Opened opened = open_connection(door, std::nullopt, Clock::now() + longest);
    if (opened.socket) return std::move(opened.socket);
    std::this_thread::sleep_for(100us);
  }
  return {};
}

// Proves itself, and says who it is. True where it was let in and stays.
bool enter(Visitor& visitor, const Key& key) {
  const int socket = visitor.socket.get();
  const Introduction met = introduce(socket, key, Purpose::Join, visitor.rank, 0, Clock::now() + longest);
  if (met.refusal != Refusal::None) return false;
  visitor.session = met.session;
  const Visit& visit = visitor.visit;
  const Member member = changed(honest_member(visitor.rank), visit.member);
  const auto frame = sealed(met.session.key, {Direction::ToRankZero, 0}, member);
  if (!say(socket, raw(frame), visit.member_sent)) return false;
  const auto answer = hear<Reply>(socket, met.session.key, {Direction::FromRankZero, 0});
  return answer && answer->kind == ReplyKind::Accepted && visit.leaves % 2 == 0;
}

// Takes the table, and says what came of it.
void report(Visitor& visitor) {
  const int socket = visitor.socket.get();
  const Key& key = visitor.session.key;
  const auto announced = hear<Reply>(socket, key, {Direction::FromRankZero, 1});
  if (!announced || announced->kind != ReplyKind::Table) return;
  std::vector<Member> table(gathered);
  const auto bytes = std::as_writable_bytes(std::span(table));
  Mac seal{};
  if (!receive_all(socket, bytes, Clock::now() + longest)) return;
  if (!receive_all(socket, std::as_writable_bytes(std::span(&seal, 1)), Clock::now() + longest)) return;
  if (!same(seal, seal_of(key, {Direction::FromRankZero, 2}, bytes)) || !is_table(table)) __builtin_trap();
  const auto frame = sealed(key, {Direction::ToRankZero, 1}, changed(Outcome{}, visitor.visit.outcome));
  if (!say(socket, raw(frame), visitor.visit.outcome_sent)) visitor.socket = {};
}

}  // namespace

void coordinate_visitors(std::span<const std::byte> bytes) {
  const TcpConfig config = config_of(next_address(), 0);
  const Key key = job_key(config);
  const Address door = resolve(config.coordinator, config.port).addresses.at(0);
  std::vector<Visitor> visitors;
  while (!bytes.empty() && visitors.size() < most_visits) {
    Visitor& one = visitors.emplace_back();
    one.visit = take_front<Visit>(bytes);
    one.rank = 1 + (visitors.size() - 1) % (gathered - 1);
  }
  for (std::size_t rank = 1; rank < gathered; ++rank) visitors.emplace_back().rank = rank;

  std::atomic<bool> over = false;
  std::thread others([&] {
    std::vector<Visitor*> inside;
    for (Visitor& visitor : visitors) {
      if (inside.size() + 1 == gathered) break;  // nobody opens any more
      visitor.socket = go_to_door(door, over);
      if (!visitor.socket) break;
      if (enter(visitor, key)) {
        inside.push_back(&visitor);
      } else if (visitor.visit.leaves % 2 != 0) {
        visitor.socket = {};
      }
    }
    for (Visitor* const visitor : inside) report(*visitor);
    while (!over) std::this_thread::sleep_for(100us);
  });
  survive([&] {
    const auto rendezvous = coordinate(config);
    use(rendezvous->gather(), 0);
    rendezvous->check();
    rendezvous->confirm({});
  });
  over = true;
  others.join();
}

// ---- rank 1 -------------------------------------------------------------------------------------------------------

namespace {

// Rank 0's end of a connection that has been proved.
struct RankZero {
  core::Descriptor socket;
  Session session;
  std::uint32_t frames = 0;
};

std::optional<RankZero> admit_one(const core::Descriptor& listener, const Key& key) {
  if (!await(listener.get(), POLLIN, Clock::now() + longest)) return std::nullopt;
  RankZero rank_zero{core::Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)), {}};
  const int socket = rank_zero.socket.get();
  Acceptance acceptance(key);
  while (acceptance.state() == Acceptance::State::Reading) {
    const auto frame = acceptance.wanted();
    if (!receive_all(socket, frame, Clock::now() + longest)) return std::nullopt;
    (void)acceptance.advance(frame.size());
    if (!send_all(socket, acceptance.answer(), Clock::now() + longest)) return std::nullopt;
  }
  if (acceptance.state() != Acceptance::State::Trusted) __builtin_trap();  // it is honest
  if (!send_all(socket, raw(acceptance.admission()), Clock::now() + longest)) return std::nullopt;
  rank_zero.session = acceptance.session();
  return rank_zero;
}

bool tell(RankZero& rank_zero, const Saying& saying) {
  const Key& key = rank_zero.session.key;
  Reply reply;
  constexpr auto kinds = static_cast<std::uint8_t>(ReplyKind::Died);
  reply.kind = static_cast<ReplyKind>(1 + saying.kind % kinds);
  const auto frame = sealed(key, {Direction::FromRankZero, rank_zero.frames++}, changed(reply, saying.reply));
  if (!say(rank_zero.socket.get(), raw(frame), saying.reply_sent)) return false;
  if (reply.kind != ReplyKind::Table) return true;
  std::vector<Member> table;
  for (std::size_t rank = 0; rank < gathered; ++rank) table.push_back(honest_member(rank));
  Member& entry = table[saying.entry % gathered];
  entry = changed(entry, saying.member);
  const auto bytes = std::as_bytes(std::span(table));
  const Mac seal = seal_of(key, {Direction::FromRankZero, rank_zero.frames++}, bytes);
  std::vector<std::byte> whole(bytes.begin(), bytes.end());
  whole.insert(whole.end(), raw(seal).begin(), raw(seal).end());
  return say(rank_zero.socket.get(), whole, saying.table_sent);
}

}  // namespace

void join_a_job(std::span<const std::byte> bytes) {
  const TcpConfig config = config_of(next_address(), 1);
  const Key key = job_key(config);
  Opened listener = open_listener(resolve(config.coordinator, config.port).addresses.at(0), 1);
  if (!listener.socket) __builtin_trap();
  std::atomic<bool> over = false;
  std::thread others([&] {
    auto rank_zero = admit_one(listener.socket, key);
    if (!rank_zero) return;
    const auto member = hear<Member>(rank_zero->socket.get(), rank_zero->session.key, {Direction::ToRankZero, 0});
    if (!member) return;
    if (problem_with(*member, gathered)) __builtin_trap();
    bool makes_sense = true;
    while (!bytes.empty() && makes_sense) makes_sense = tell(*rank_zero, take_front<Saying>(bytes));
    (void)shutdown(rank_zero->socket.get(), SHUT_WR);
    while (!over) std::this_thread::sleep_for(100us);  // it may have something to say
  });
  survive([&] {
    const auto rendezvous = join(config);
    use(rendezvous->gather(), 1);
    rendezvous->confirm({});
  });
  over = true;
  others.join();
}

}  // namespace fuzz
