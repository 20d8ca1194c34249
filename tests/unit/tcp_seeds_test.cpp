// What the fuzzer of the network's parsers starts from.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/algorithms/calibrate.hpp"
#include "comm/algorithms/letter.hpp"
#include "comm/backends/tcp/address.hpp"
#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/hosts.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/backends/tcp/notices.hpp"
#include "comm/backends/tcp/wire.hpp"
#include "fuzz/tcp_parsers.hpp"
#include "support/seeds.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;
using fuzz::job_size;
using fuzz::Parser;
using test::Seed;
using test::seed;

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
  one.problem.say("rank 1 cannot reach rank 2");
  return one;
}

std::vector<Seed> seeds_of_notices() {
  std::vector<Seed> seeds;
  for (const auto kind : {VerdictKind::PeerFailed, VerdictKind::TimedOut, VerdictKind::Mismatch,
                          VerdictKind::LengthMismatch, VerdictKind::ReductionThrew, VerdictKind::Unreachable}) {
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

// What a whole sentinel hears: each kind at the root, and in the middle from above and from below.
std::vector<Seed> seeds_of_sentinels() {
  using fuzz::Watching;
  const Inquiry inquiry{.question = Question::WhoDisagrees, .rank = 3, .sequence = 3, .waited_microseconds = 100};
  Warning own;
  own.rank = 2;
  own.line.say("waiting");
  Warning anothers = own;
  anothers.rank = 3;
  Testimony from_below = testimony(3);
  std::vector<Seed> seeds;
  seeds.push_back(seed("root_hears_a_report", Parser::Watch, raw(Watching{0, 1}), notice(NoticeKind::Inquiry, inquiry),
                       notice(NoticeKind::Testimony, from_below),
                       notice(NoticeKind::Report, verdict(VerdictKind::LengthMismatch)),
                       notice(NoticeKind::Alive, Alive{})));
  seeds.push_back(seed("root_hears_farewells", Parser::Watch, raw(Watching{0, 0}),
                       notice(NoticeKind::Farewell, Farewell{.rank = 1, .left = 2}),
                       notice(NoticeKind::Farewell, Farewell{.rank = 3, .missed = 3, .left = 9})));
  seeds.push_back(seed("parent_calls", Parser::Watch, raw(Watching{1, 0}), notice(NoticeKind::RollCall, RollCall{7}),
                       notice(NoticeKind::Warning, own), notice(NoticeKind::Warning, anothers),
                       notice(NoticeKind::Abort, Abort{.code = 1, .rank = 2})));
  seeds.push_back(seed("parent_judges", Parser::Watch, raw(Watching{1, 0}),
                       notice(NoticeKind::Verdict, verdict(VerdictKind::PeerFailed)),
                       notice(NoticeKind::Verdict, verdict(VerdictKind::TimedOut))));
  seeds.push_back(seed("child_reports", Parser::Watch, raw(Watching{1, 1}),
                       notice(NoticeKind::Report, verdict(VerdictKind::ReductionThrew)),
                       notice(NoticeKind::Inquiry, inquiry), notice(NoticeKind::RollCall, RollCall{7}),
                       notice(NoticeKind::Farewell, Farewell{.rank = 0, .left = 3})));
  from_below.call = 7;
  seeds.push_back(
      seed("child_testifies", Parser::Watch, raw(Watching{1, 1}), notice(NoticeKind::Testimony, from_below)));
  return seeds;
}

// Messages of operations: which of them is changed, and in which field of its header.
std::vector<Seed> seeds_of_operations() {
  using fuzz::Received;
  using fuzz::Receiving;
  const auto changed = [](std::uint8_t length, std::size_t place) {
    Receiving one{.length = length};
    one.change.at(place) = 1;
    return one;
  };
  const Receiving empty{.length = 0};
  const Receiving small{.length = 1};
  const Receiving longest_early{.length = 3};
  const Receiving large{.length = 5};
  std::vector<Seed> seeds;
  seeds.push_back(seed("operations", Parser::Receive, raw(Received{}), raw(small), raw(empty), raw(large), raw(small),
                       raw(longest_early), raw(small)));
  seeds.push_back(seed("operations_cut_off", Parser::Receive, raw(Received{.missing = 20}), raw(small), raw(small)));
  seeds.push_back(seed("another_operation", Parser::Receive, raw(Received{}), raw(small),
                       raw(changed(1, offsetof(Header, sequence)))));
  seeds.push_back(seed("another_history", Parser::Receive, raw(Received{}), raw(changed(5, offsetof(Header, chain)))));
  seeds.push_back(seed("another_length", Parser::Receive, raw(Received{}), raw(changed(1, offsetof(Header, bytes)))));
  seeds.push_back(seed("another_length_of_a_pair", Parser::Receive, raw(Received{.pairwise = 1}), raw(large),
                       raw(changed(4, offsetof(Header, bytes)))));
  seeds.push_back(seed("another_sender", Parser::Receive, raw(Received{}), raw(changed(0, offsetof(Header, from)))));
  return seeds;
}

// Those who come to rank 0, each of whom knows the secret.
std::vector<Seed> seeds_of_visitors() {
  using fuzz::Cut;
  using fuzz::Visit;
  const auto with_member = [](std::size_t place, std::uint8_t by) {
    Visit one;
    one.member.at(place) = by;
    return one;
  };
  const auto with_outcome = [](Reached reached, std::string_view words) {
    Outcome outcome;
    outcome.reached = reached;
    outcome.text.say(words);
    Visit one;
    for (std::size_t i = 0; i < one.outcome.size(); ++i) {
      one.outcome[i] = static_cast<std::uint8_t>(raw(outcome)[i] ^ raw(Outcome{})[i]);
    }
    return one;
  };
  std::vector<Seed> seeds;
  const auto add = [&](const std::string& name, const auto&... visits) {
    seeds.push_back(seed(name, Parser::Coordinator, raw(visits)...));
  };
  add("job");
  add("job_of_visitors", Visit{}, Visit{});
  add("visitor_of_another_size", with_member(offsetof(Member, size), 1));
  add("visitor_without_a_place", with_member(offsetof(Member, rank), 1), with_member(offsetof(Member, rank), 0x80));
  add("visitor_in_place_of_another", Visit{}, with_member(offsetof(Member, rank), 1 ^ 2));
  add("visitor_without_an_address", with_member(offsetof(Member, door), 4));
  add("visitor_of_another_host", with_member(offsetof(Member, host), 1),
      with_member(offsetof(Member, host_name), 0x1b));
  Visit one;
  one.leaves = 1;
  add("visitor_that_leaves", one);
  one = {};
  one.member_sent = {.cut = 0, .by = 1, .place = offsetof(Member, pid)};
  Visit shorter;
  shorter.member_sent.cut = static_cast<std::uint8_t>(Cut::Shorter);
  Visit silent;
  silent.member_sent.cut = static_cast<std::uint8_t>(Cut::NothingAtAll);
  add("visitors_cut_off", one, shorter, silent);
  add("visitor_that_reaches_nobody", with_outcome(Reached::Unreachable, "rank 2 is \x1b[31mfar"));
  add("visitor_that_was_not_reached", with_outcome(Reached::SomeDidNotCome, "rank 2 did not"));
  add("visitor_of_no_known_outcome", with_outcome(static_cast<Reached>(77), ""));
  one = {};
  one.outcome_sent = {.cut = 0, .by = 1, .place = 20};
  shorter = {};
  shorter.outcome_sent.cut = static_cast<std::uint8_t>(Cut::Shorter);
  add("outcomes_cut_off", one, shorter);
  return seeds;
}

// What a rank hears of rank 0.
std::vector<Seed> seeds_of_rank_zero() {
  using fuzz::Cut;
  using fuzz::Saying;
  const auto saying = [](ReplyKind kind, std::uint32_t rank = 0, std::string_view words = {}) {
    Reply reply;
    reply.rank = rank;
    reply.text.say(words);
    Saying one;
    one.kind = static_cast<std::uint8_t>(kind) - 1;
    for (std::size_t i = offsetof(Reply, rank); i < one.reply.size(); ++i) {
      one.reply[i] = static_cast<std::uint8_t>(raw(reply)[i]);
    }
    return one;
  };
  const Saying accepted = saying(ReplyKind::Accepted, 100);
  const Saying table = saying(ReplyKind::Table);
  const Saying go = saying(ReplyKind::Go);
  std::vector<Seed> seeds;
  const auto add = [&](const std::string& name, const auto&... sayings) {
    seeds.push_back(seed(name, Parser::Joiner, raw(sayings)...));
  };
  add("gathered", accepted, table, go);
  add("left_alone", accepted);
  add("asked_to_wait_for_weeks", saying(ReplyKind::Accepted, ~0U));
  add("refused", saying(ReplyKind::Refused, 0, "no \x1b[31mroom"));
  add("failed", accepted, saying(ReplyKind::Failed, 0, "rank 2 did not come"));
  add("failed_at_last", accepted, table, saying(ReplyKind::Failed, 0, "rank 2 is far"));
  add("died", accepted, saying(ReplyKind::Died, 2, "node"));
  add("died_outside_of_the_job", accepted, saying(ReplyKind::Died, fuzz::gathered, "node"));
  add("gone_too_early", accepted, go);
  Saying one = accepted;
  one.reply[0] = 1 ^ 77;
  add("unknown_reply", one);
  one = accepted;
  one.reply_sent.by = 1;
  add("reply_that_was_changed", one);
  one.reply_sent = {.cut = static_cast<std::uint8_t>(Cut::Shorter), .by = 0, .place = 0};
  add("reply_cut_off", one);
  one = table;
  one.table_sent.by = 1;
  add("table_that_was_changed", accepted, one);
  one.table_sent = {.cut = static_cast<std::uint8_t>(Cut::Shorter), .by = 0, .place = 0};
  add("table_cut_off", accepted, one);
  one = table;
  one.entry = 2;
  one.member.at(offsetof(Member, rank)) = 1;
  add("table_with_a_rank_twice", accepted, one, go);
  one = table;
  one.member.at(offsetof(Member, door)) = 4 ^ 6;
  one.member.at(offsetof(Member, host)) = 1;
  one.member.at(offsetof(Member, placement)) = 1;
  add("table_with_another_host", accepted, one, go);
  return seeds;
}

std::vector<Seed> seeds_of_parts_and_costs() {
  std::vector<Seed> seeds;
  const auto door = [](const char* host, std::uint16_t port) { return resolve(host, port).addresses.at(0).to_wire(); };
  using Lengths = std::array<std::size_t, job_size>;
  seeds.push_back(seed("part_doors", Parser::PartDoors, raw(Lengths{2, 1, 0, 1}), raw(door("127.0.0.1", 4000)),
                       raw(door("10.0.0.1", 1)), raw(door("127.0.0.1", 2)), raw(door("::", 3)),
                       raw(door("127.0.0.1", 4))));
  seeds.push_back(seed("part_doors_that_add_up_to_few", Parser::PartDoors, raw(Lengths{~std::size_t{0}, 2, 0, 0}),
                       raw(door("127.0.0.1", 4000))));
  seeds.push_back(seed("part_doors_beyond_any_memory", Parser::PartDoors, raw(Lengths{1, 1, std::size_t{1} << 40, 1}),
                       raw(door("127.0.0.1", 4000))));
  constexpr auto words_of = [](double one) { return std::bit_cast<std::uint64_t>(one); };
  using Words = std::array<std::uint64_t, 8>;
  const std::uint64_t over = algorithms::calibration::over;
  seeds.push_back(seed("costs", Parser::Calibrate,
                       raw(Words{1, 1, 16384, over, words_of(3.5), words_of(0.25e-3), words_of(0.1e-3), 1})));
  seeds.push_back(
      seed("costs_of_a_length_beyond_the_longest", Parser::Calibrate,
           raw(Words{1, algorithms::calibration::longest + 1, words_of(3.5), words_of(1), words_of(1), 0})));
  seeds.push_back(
      seed("costs_that_nothing_can_have", Parser::Calibrate,
           raw(Words{over, words_of(std::numeric_limits<double>::quiet_NaN()), words_of(1e300), words_of(-1), 0})));
  return seeds;
}

std::vector<Seed> all_seeds() {
  std::vector<Seed> seeds = seeds_of_notices();
  for (Seed& one : seeds_of_visitors()) seeds.push_back(std::move(one));
  for (Seed& one : seeds_of_rank_zero()) seeds.push_back(std::move(one));
  for (Seed& one : seeds_of_parts_and_costs()) seeds.push_back(std::move(one));
  for (Seed& one : seeds_of_sentinels()) seeds.push_back(std::move(one));
  for (Seed& one : seeds_of_operations()) seeds.push_back(std::move(one));
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
  for (const auto& [name, parser] : {std::pair("messages", Parser::Messages), std::pair("mail", Parser::Mail)}) {
    seeds.push_back(seed(name, parser, raw(Letter{.from = 1, .realm = 1, .bytes = 8}), text("12345678"),
                         raw(Letter{.from = 1, .realm = 1, .tag = 1, .number = 1}),
                         raw(Letter{.from = 1, .tag = 2, .bytes = long_message.size(), .number = 2}),
                         text(long_message), raw(Letter{.from = 1, .tag = 3, .bytes = 2, .number = 3}), text("ab")));
  }
  fuzz::Vouching vouching;
  const std::string credential = "MUNGE:" + std::string(33, 'm') + ":";
  vouching.credential.bytes = static_cast<std::uint32_t>(credential.size());
  std::ranges::copy(credential, vouching.credential.text.begin());
  vouching.writer = fuzz::user;
  seeds.push_back(seed("credential", Parser::Vouch, raw(vouching), raw(challenge.nonce)));
  ++vouching.writer;
  seeds.push_back(seed("credential_of_another_user", Parser::Vouch, raw(vouching), raw(challenge.nonce)));
  vouching.credential.bytes = sizeof vouching.credential.text;
  seeds.push_back(seed("credential_without_an_end", Parser::Vouch, raw(vouching)));
  // What is changed of that which an honest door says: nothing.
  seeds.push_back(seed("admission", Parser::Introduce, raw(std::array<std::uint8_t, sizeof(Response)>{}),
                       raw(std::array<std::uint8_t, sizeof(Admission)>{})));
  return seeds;
}

TEST(TcpSeeds, AreWhatRanksSayNow) {
  test::expect_recorded(all_seeds(), COBRE_TEST_TCP_CORPUS, "tcp_seeds");
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
    if (!understand(reader.kind(), reader.body(), job_size)) return std::nullopt;
    ++count;
  }
  return count;
}

TEST(TcpSeeds, OfNoticesAreHeardToTheEnd) {
  for (const Seed& one : seeds_of_notices()) {
    const std::size_t expected = one.name == "roll_call" ? 3 : one.name == "inquiry_and_farewell" ? 5 : 1;
    EXPECT_EQ(sensible_notices(text(one.bytes).subspan(1)), expected) << one.name;
  }
  for (const Seed& one : seeds_of_sentinels()) {
    EXPECT_GE(sensible_notices(text(one.bytes).subspan(1 + sizeof(fuzz::Watching))).value_or(0), 1U) << one.name;
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

TEST(TcpReplies, NameOnlyRanksOfTheJob) {
  Reply reply;
  reply.kind = ReplyKind::Died;
  for (const std::uint32_t rank : {0U, job_size - 1}) {
    reply.rank = rank;
    EXPECT_TRUE(is_sensible(reply, job_size));
  }
  for (const std::uint32_t rank : {job_size, ~0U}) {
    reply.rank = rank;
    EXPECT_FALSE(is_sensible(reply, job_size));
  }
  reply.kind = ReplyKind::Accepted;
  EXPECT_TRUE(is_sensible(reply, job_size)) << "there it is a time";
  for (const std::uint32_t kind : {0U, 7U}) {
    reply.kind = static_cast<ReplyKind>(kind);
    EXPECT_FALSE(is_sensible(reply, job_size));
  }
}

}  // namespace
