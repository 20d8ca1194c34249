// What the fuzzer of the network's parsers starts from. A seed of yesterday's layout is cut off at the first check, and
// the fuzzer never comes to what is behind it.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "comm/algorithms/letter.hpp"
#include "comm/backends/tcp/address.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/hosts.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/notices.hpp"
#include "comm/backends/tcp/wire.hpp"
#include "fuzz/tcp_parsers.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;
using fuzz::job_size;
using fuzz::Parser;

struct Seed {
  std::string name;
  std::string bytes;
};

template <class... Frames>
Seed seed(std::string name, Parser parser, const Frames&... frames) {
  std::string bytes(1, static_cast<char>(parser));
  const auto add = [&](std::span<const std::byte> more) {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
  };
  (add(frames), ...);
  return {std::move(name), std::move(bytes)};
}

std::span<const std::byte> text(std::string_view words) {
  return std::as_bytes(std::span(words));
}

Member member(std::uint32_t rank, std::uint8_t host, const char* address) {
  Member one;
  one.rank = rank;
  one.size = job_size;
  one.door = resolve(address, 4000).addresses.at(0).to_wire();
  one.host[0] = host;
  one.host_name.say("node" + std::to_string(host));
  one.pid = static_cast<std::int32_t>(100 + rank);
  one.shares_memory = 1;
  one.cpus[0] = std::uint64_t{1} << rank;
  one.cpu_quota = 2;
  one.placement = {.host = host, .domains = {1, 0}, .cpu_set = rank, .cpus = 1};
  return one;
}

std::array<Member, job_size> table(std::size_t ranks_a_host, const char* address) {
  std::array<Member, job_size> members;
  for (std::uint32_t rank = 0; rank < job_size; ++rank) {
    members[rank] = member(rank, static_cast<std::uint8_t>(1 + rank / ranks_a_host), address);
  }
  return members;
}

detail::OperationRecord broadcast_of(std::uint64_t count, std::uint64_t sequence) {
  return {.operation = detail::Operation::Broadcast,
          .type = ElementType::Double,
          .element_size = 8,
          .count = count,
          .root = 1,
          .sequence = sequence};
}

// Of ranks that are in different operations, and in different orders beside them.
Testimony testimony(std::uint32_t rank) {
  Testimony one;
  one.call = 1;
  one.rank = rank;
  one.entered = 5;
  one.left = 4;
  for (std::uint64_t sequence = 1; sequence <= one.entered; ++sequence) {
    one.history[sequence % Journal::depth] = broadcast_of(sequence + rank / 3, sequence);
  }
  for (core::Standing* const standing : {&one.requests, &one.fences, &one.base}) {
    standing->entered = 5 - rank % 2;
    standing->last = broadcast_of(5, standing->entered);
    standing->begun = 1 + rank % 2;
    for (std::uint64_t number = 1; number <= standing->begun; ++number) {
      standing->beside[number % core::Aside::depth] = broadcast_of(7, number);
    }
  }
  return one;
}

Verdict verdict(VerdictKind kind) {
  Verdict one;
  one.kind = kind;
  one.subject = 1;
  one.other = 2;
  one.pid = 77;
  one.waited_microseconds = 1000;
  one.ranks.set(1);
  one.ranks.set(2);
  one.subject_record = broadcast_of(3, 5);
  one.other_record = broadcast_of(4, 5);
  one.host.say("node");
  return one;
}

std::vector<Seed> seeds_of_notices() {
  std::vector<Seed> seeds;
  for (const auto kind : {VerdictKind::PeerFailed, VerdictKind::TimedOut, VerdictKind::Mismatch,
                          VerdictKind::LengthMismatch, VerdictKind::ReductionThrew}) {
    seeds.push_back(seed("verdict_" + std::to_string(static_cast<int>(kind)), Parser::Listen,
                         notice(NoticeKind::Verdict, verdict(kind))));
  }
  const Inquiry inquiry{.question = Question::TimeIsUp, .rank = 1, .sequence = 5, .waited_microseconds = 100};
  seeds.push_back(seed("inquiry_and_farewell", Parser::Listen, notice(NoticeKind::Inquiry, inquiry),
                       notice(NoticeKind::Farewell, Farewell{.rank = 2, .left = 9}),
                       notice(NoticeKind::Abort, Abort{.code = 1, .rank = 1}), notice(NoticeKind::Alive, Alive{}),
                       notice(NoticeKind::RollCall, RollCall{7})));
  Inquiry disagreement = inquiry;
  disagreement.question = Question::WhoDisagrees;
  seeds.push_back(seed("roll_call", Parser::Listen, notice(NoticeKind::Inquiry, disagreement),
                       notice(NoticeKind::Testimony, testimony(1)), notice(NoticeKind::Testimony, testimony(3))));
  Warning warning;
  warning.rank = 1;
  warning.line.say("waiting");
  seeds.push_back(seed("warning", Parser::Listen, notice(NoticeKind::Warning, warning)));
  return seeds;
}

std::vector<Seed> all_seeds() {
  std::vector<Seed> seeds = seeds_of_notices();
  Challenge challenge;
  challenge.from = 1;
  for (std::size_t i = 0; i < challenge.nonce.size(); ++i) challenge.nonce[i] = static_cast<std::uint8_t>(i);
  seeds.push_back(seed("challenge", Parser::Accept, raw(challenge), raw(Proof{})));
  challenge.purpose = Purpose::Data;
  challenge.from = 2;
  challenge.to = 1;
  seeds.push_back(seed("challenge_of_a_link", Parser::Accept, raw(challenge), raw(Proof{challenge.nonce})));
  seeds.push_back(seed("member", Parser::Join, raw(member(1, 1, "127.0.0.1"))));
  seeds.push_back(seed("table", Parser::Join, raw(table(2, "127.0.0.1"))));
  seeds.push_back(seed("table_ipv6", Parser::Join, raw(table(1, "::1"))));
  Reply reply;
  reply.kind = ReplyKind::Refused;
  reply.rank = 1;
  reply.text.say("no room");
  seeds.push_back(seed("reply", Parser::Reply, raw(reply)));
  seeds.push_back(seed("header", Parser::Header, raw(Header{.from = 1, .bytes = 8, .sequence = 3, .chain = 77})));
  seeds.push_back(seed("address", Parser::Address, text("[fe80::1%eth0]:29500")));
  seeds.push_back(seed("host_and_port", Parser::Address, text("node1:4000")));
  using algorithms::Letter;
  const std::string long_message(300, 'x');
  seeds.push_back(seed("messages", Parser::Messages, raw(Letter{.from = 1, .realm = 1, .bytes = 8}), text("12345678"),
                       raw(Letter{.from = 1, .realm = 1, .tag = 1, .number = 1}),
                       raw(Letter{.from = 1, .tag = 2, .bytes = long_message.size(), .number = 2}), text(long_message),
                       raw(Letter{.from = 1, .tag = 3, .bytes = 2, .number = 3}), text("ab")));
  // What is changed of that which an honest door says: nothing.
  seeds.push_back(seed("admission", Parser::Introduce, raw(std::array<std::uint8_t, sizeof(Response)>{}),
                       raw(std::array<std::uint8_t, sizeof(Admission)>{})));
  return seeds;
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(TcpSeeds, AreWhatRanksSayNow) {
  const std::filesystem::path corpus = COBRE_TEST_FUZZ_CORPUS;
  const std::filesystem::path right = std::filesystem::absolute("tcp_seeds");
  for (const Seed& one : all_seeds()) {
    if (content_of(corpus / one.name) == one.bytes) continue;
    std::filesystem::create_directories(right);
    std::ofstream(right / one.name, std::ios::binary) << one.bytes;
    ADD_FAILURE() << "the layout has changed; record it: cp " << (right / one.name).string() << " " << corpus.string();
  }
}

// How many notices there are up to the end of the stream, all of them sensible; nothing where they are not.
std::optional<std::size_t> sensible_notices(std::span<const std::byte> stream) {
  NoticeReader reader;
  std::size_t count = 0;
  while (!stream.empty()) {
    const auto room = reader.wanted();
    if (stream.size() < room.size()) return std::nullopt;
    std::memcpy(room.data(), stream.data(), room.size());
    stream = stream.subspan(room.size());
    if (reader.advance(room.size()) == NoticeReader::Found::Nothing) continue;
    bool sensible = true;
    if (reader.kind() == NoticeKind::Verdict) sensible = is_sensible(read_body<Verdict>(reader.body()), job_size);
    if (reader.kind() == NoticeKind::Inquiry) sensible = is_sensible(read_body<Inquiry>(reader.body()), job_size);
    if (reader.kind() == NoticeKind::Testimony) sensible = is_sensible(read_body<Testimony>(reader.body()), job_size);
    if (!sensible) return std::nullopt;
    ++count;
  }
  return count;
}

TEST(TcpSeeds, OfNoticesAreHeardToTheEnd) {
  for (const Seed& one : seeds_of_notices()) {
    const std::size_t expected = one.name == "roll_call" ? 3 : one.name == "inquiry_and_farewell" ? 5 : 1;
    EXPECT_EQ(sensible_notices(text(one.bytes).subspan(1)), expected) << one.name;
  }
}

TEST(TcpSeeds, OfRanksAndTablesAreBelieved) {
  EXPECT_EQ(problem_with(member(1, 1, "127.0.0.1"), job_size), std::nullopt);
  const auto pairs = table(2, "127.0.0.1");
  ASSERT_TRUE(is_table(pairs));
  EXPECT_EQ(find_hosts(pairs, 0).list.size(), 2U);
  EXPECT_EQ(find_hosts(pairs, 0).step, 2U);
  const auto apart = table(1, "::1");
  ASSERT_TRUE(is_table(apart));
  EXPECT_EQ(find_hosts(apart, 0).list.size(), job_size);
}

}  // namespace
