// What the fuzzer of the rendezvous of shm starts from, and what ranks refuse that other processes could send.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/backends/shm/layout.hpp"
#include "comm/backends/shm/messages.hpp"
#include "comm/backends/shm/segment.hpp"
#include "fuzz/shm_parsers.hpp"
#include "support/seeds.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::shm;
using fuzz::Answer;
using fuzz::Cut;
using fuzz::Glimpse;
using fuzz::group_size;
using fuzz::Handed;
using fuzz::Reader;
using fuzz::Visit;
using test::Seed;
using test::seed;

template <class Frame>
std::span<const std::byte> raw(const Frame& frame) {
  return std::as_bytes(std::span(&frame, 1));
}

Visit visit(std::size_t place, std::uint8_t change) {
  Visit one;
  one.change.at(place) = change;
  return one;
}

std::vector<Seed> seeds_of_visitors() {
  constexpr std::size_t rank = offsetof(Hello, rank);
  Visit leaves;
  leaves.leaves = 1;
  std::vector<Seed> seeds;
  seeds.push_back(seed("group", Reader::Coordinator));
  seeds.push_back(seed("visitor_of_another_version", Reader::Coordinator, raw(visit(offsetof(Hello, layout), 1))));
  seeds.push_back(seed("visitor_of_another_group", Reader::Coordinator, raw(visit(offsetof(Hello, name_check), 1))));
  seeds.push_back(seed("visitor_of_another_size", Reader::Coordinator, raw(visit(offsetof(Hello, size), 4))));
  seeds.push_back(seed("visitor_without_a_place", Reader::Coordinator, raw(visit(rank, 1)), raw(visit(rank, 0x80))));
  seeds.push_back(seed("visitor_in_place_of_another", Reader::Coordinator, raw(Visit{}), raw(visit(rank, 1 ^ 2))));
  seeds.push_back(seed("visitor_of_another_process", Reader::Coordinator, raw(visit(offsetof(Hello, process), 1)),
                       raw(visit(offsetof(Hello, process), 2))));
  seeds.push_back(seed("visitor_that_leaves", Reader::Coordinator, raw(leaves)));
  Seed cut = seed("visitors_cut_off", Reader::Coordinator);
  for (const Cut how : {Cut::Shorter, Cut::Longer, Cut::NothingAtAll}) {
    Visit one;
    one.cut = static_cast<std::uint8_t>(how);
    cut.bytes += seed("", Reader::Coordinator, raw(one)).bytes.substr(1);
  }
  seeds.push_back(cut);
  Seed descriptors = seed("visitors_with_other_descriptors", Reader::Coordinator);
  for (std::uint8_t more = 1; more <= 3; ++more) {
    Visit one;
    one.more_descriptors = more;
    descriptors.bytes += seed("", Reader::Coordinator, raw(one)).bytes.substr(1);
  }
  seeds.push_back(descriptors);
  return seeds;
}

// Accepted is 0, so what is changed of it is what is said.
Answer saying(ReplyKind kind, std::int32_t rank = 0) {
  Reply said;
  said.kind = kind;
  said.rank = rank;
  said.say("no \x1b[31mroom");
  Answer one;
  constexpr std::size_t begin = offsetof(Reply, kind);  // what is before it is the same
  std::memcpy(one.change.data() + begin, reinterpret_cast<const std::uint8_t*>(&said) + begin, sizeof said - begin);
  return one;
}

Answer welcome(Handed handed = Handed::WhatBelongsToIt) {
  Answer one;
  one.welcomes = 1;
  one.handed = static_cast<std::uint8_t>(handed);
  return one;
}

std::vector<Seed> seeds_of_answers() {
  std::vector<Seed> seeds;
  const auto add = [&](const std::string& name, const Answer& answer) {
    seeds.push_back(seed(name, Reader::Joiner, raw(Answer{}), raw(answer)));
  };
  seeds.push_back(seed("accepted_and_left_alone", Reader::Joiner, raw(Answer{})));
  add("welcome", welcome());
  add("refused", saying(ReplyKind::Refused));
  add("no_memory", saying(ReplyKind::NoMemory));
  add("died", saying(ReplyKind::Died, 2));
  add("died_outside_of_the_group", saying(ReplyKind::Died, -1));
  add("unknown_answer", saying(static_cast<ReplyKind>(77)));
  add("no_segment", welcome(Handed::Nothing));
  add("segment_alone", welcome(Handed::SegmentAlone));
  add("no_memory_file", welcome(Handed::NoMemoryFile));
  add("empty_segment", welcome(Handed::AnotherSize));
  Answer one = welcome(Handed::AnotherSize);
  one.pages = 3;
  add("short_segment", one);
  one = welcome();
  one.agreement.at(offsetof(Agreement, buffer_offset) + 4) = 1;
  add("segment_with_another_layout", one);
  one = welcome();
  one.agreement.at(offsetof(Agreement, single_copy)) = 2;
  add("segment_with_another_flag", one);
  one = welcome();
  one.change.at(offsetof(Reply, process_of)) = 9;
  add("process_that_was_not_sent", one);
  one = welcome();
  one.change.at(offsetof(Reply, magic)) = 1;
  add("answer_of_another_version", one);
  one = welcome();
  one.cut = static_cast<std::uint8_t>(Cut::Shorter);
  add("answer_cut_off", one);
  return seeds;
}

// What a launcher finds of ranks in different places.
std::vector<Seed> seeds_of_glimpses() {
  std::vector<std::uint64_t> memory(ChannelBlock::bytes(group_size) / sizeof(std::uint64_t) + 2 * line_bytes);
  void* begin = memory.data();
  std::size_t room = memory.size() * sizeof(std::uint64_t);
  auto& block = *static_cast<ChannelBlock*>(std::align(line_bytes, ChannelBlock::bytes(group_size), begin, room));
  block.verdict.state = 3;
  block.verdict.kind = VerdictKind::PeerFailed;
  block.verdict.subject = 2;
  for (std::size_t rank = 0; rank < group_size; ++rank) {
    RankBlock& one = block.rank(rank);
    const Word sequence = rank + 1;
    one.attached = 1;
    one.finished.sequence = rank == 0 ? 1 : sequence - 1;
    RecordCopy noted{};
    noted.record = {.operation = rank == 1 ? detail::Operation::Reduce : detail::Operation::Broadcast,
                    .type = ElementType::Double,
                    .element_size = 8,
                    .count = 7,
                    .root = 1,
                    .sequence = sequence};
    one.records.at(rank + 1).write(sequence, std::bit_cast<std::array<Word, sizeof noted / sizeof(Word)>>(noted));
  }
  const auto glimpse_of = [&](const std::string& name, const Glimpse& glimpse) {
    Seed one = seed(name, Reader::Witness, raw(glimpse));
    fuzz::painted_places([&](std::size_t offset, std::size_t count) {
      one.bytes.append(reinterpret_cast<const char*>(&block) + offset, count);
    });
    return one;
  };
  std::vector<Seed> seeds{glimpse_of("glimpse", {})};
  Glimpse changed;
  changed.change.at(3 * sizeof(Word)) = group_size ^ 200;
  seeds.push_back(glimpse_of("glimpse_of_more_ranks", changed));
  changed = {};
  changed.change.at(2 * sizeof(Word)) = 1;
  seeds.push_back(glimpse_of("glimpse_of_more_bytes", changed));
  changed = {};
  changed.more_descriptors = 3;
  seeds.push_back(glimpse_of("glimpse_of_nothing", changed));
  block.rank(0).presence = static_cast<std::uint32_t>(Presence::Left);
  block.rank(1).mail.peer = 5;
  block.rank(1).mail.name[0] = 0x1b;
  block.rank(2).attached = 0;
  seeds.push_back(glimpse_of("glimpse_of_ruins", {}));
  return seeds;
}

// What a launcher finds of one rank that has died: nothing changed, and a few words of it.
std::vector<Seed> seeds_of_ledgers() {
  using tcp::LedgerPage;
  std::vector<Seed> seeds{seed("ledger", Reader::Launcher)};
  const auto add = [&](const std::string& name, std::size_t place, std::uint64_t change) {
    std::vector<std::byte> page(place + sizeof change);
    std::memcpy(page.data() + place, &change, sizeof change);
    seeds.push_back(seed(name, Reader::Launcher, std::span<const std::byte>(page)));
  };
  constexpr std::size_t mail = offsetof(LedgerPage, journal);  // where it stands in an input
  constexpr std::size_t note = mail + sizeof(LedgerPage::mail) + offsetof(algorithms::PartPage, notes);
  constexpr std::size_t second = note + sizeof(algorithms::PartNote);
  add("ledger_of_another_layout", offsetof(LedgerPage, layout), 1);
  add("ledger_that_blames_nobody_of_the_job", offsetof(LedgerPage, has_left), std::uint64_t{77} << 32);
  add("ledger_of_one_who_has_left", offsetof(LedgerPage, has_left), 1);
  add("ledger_in_a_message", mail + offsetof(algorithms::MailNote, peer), 5);
  add("ledger_of_an_odd_part", note + offsetof(algorithms::PartNote, made), 0xff);
  add("ledger_of_an_odd_operation", note + offsetof(algorithms::PartNote, record), 0xffff'ffff);
  add("ledger_after_the_second_part", second + offsetof(algorithms::PartNote, left), 3);
  return seeds;
}

// What the lookout of an MPI job is told, and what becomes of those who tell it.
std::vector<Seed> seeds_of_callers() {
  using cobre::command::LookoutCall;
  using fuzz::Caller;
  using fuzz::Whose;
  constexpr std::uint8_t says_a_word = 1;
  constexpr std::uint8_t hangs_up = 2;
  const auto with = [](Whose whose, std::uint8_t then = 0) {
    return Caller{.whose = static_cast<std::uint8_t>(whose), .then = then};
  };
  const auto cut = [](Cut how) { return Caller{.cut = static_cast<std::uint8_t>(how)}; };
  const auto changed = [](std::size_t place, std::uint8_t change) {
    Caller one;
    one.change.at(place) = change;
    return one;
  };
  std::vector<Seed> seeds;
  const auto add = [&](const std::string& name, const std::vector<Caller>& callers) {
    seeds.push_back(seed("lookout_" + name, Reader::Lookout, std::as_bytes(std::span(callers))));
  };
  const Caller honest;
  const Caller killed = with(Whose::ItsOwnThatDied);
  const Caller ended = with(Whose::ItsOwnThatDied, hangs_up);
  add("where_one_was_killed", {killed, honest, honest});
  add("where_one_ends_with_a_code", {ended, honest, honest});
  add("where_all_end_with_a_code", {ended, ended, ended});
  add("where_one_aborts", {with(Whose::This, says_a_word), honest, honest});
  add("of_those_who_hang_up", std::vector(3, with(Whose::This, hangs_up)));
  add("of_no_processes", {with(Whose::NoProcess), with(Whose::NothingThatCanBeWaitedFor), {.more_descriptors = 3}});
  add("called_twice_by_a_rank", std::vector(4, honest));
  add("of_ranks_elsewhere",
      {changed(offsetof(LookoutCall, ranks_on_host), 7), changed(offsetof(LookoutCall, rank), 0xff)});
  add("cut_off", {cut(Cut::Shorter), cut(Cut::Longer), cut(Cut::NothingAtAll)});
  add("with_more_descriptors", {{.more_descriptors = 1}, {.more_descriptors = 2}});
  return seeds;
}

TEST(ShmSeeds, AreWhatRanksSayNow) {
  for (const auto& seeds :
       {seeds_of_visitors(), seeds_of_answers(), seeds_of_glimpses(), seeds_of_ledgers(), seeds_of_callers()}) {
    test::expect_recorded(seeds, COBRE_TEST_SHM_CORPUS, "shm_seeds");
  }
}

TEST(ShmAnswers, NameOnlyRanksOfTheGroup) {
  Reply reply;
  reply.kind = ReplyKind::Died;
  for (const std::int32_t rank : {0, 2}) {
    reply.rank = rank;
    EXPECT_TRUE(is_sensible(reply, group_size));
  }
  for (const std::int32_t rank : {-1, 3}) {
    reply.rank = rank;
    EXPECT_FALSE(is_sensible(reply, group_size));
  }
  reply.kind = ReplyKind::Accepted;
  EXPECT_TRUE(is_sensible(reply, group_size));
  reply.magic = 0;
  EXPECT_FALSE(is_sensible(reply, group_size));
}

TEST(ShmAnswers, ShowNothingThatATerminalShouldNotSee) {
  Reply reply;
  reply.say("no \x1b[31mroom");
  EXPECT_EQ(reply.words(), "no ?[31mroom");
}

class ShmSegment : public testing::Test {
 protected:
  ShmSegment() {
    ShmConfig config;
    config.size = group_size;
    agreement_ = plan_segment(config, 2, true);
    segment_.resize(agreement_.segment_bytes);
  }
  [[nodiscard]] bool fits() {
    std::memcpy(segment_.data(), &agreement_, sizeof agreement_);
    return is_laid_out(segment_, group_size);
  }

  Agreement agreement_{};
  std::vector<std::byte> segment_;
};

TEST_F(ShmSegment, IsBelievedWhereItIsLaidOutAsRankZeroDoes) {
  EXPECT_TRUE(fits());
}

TEST_F(ShmSegment, IsNotBelievedWhereAnyPlaceIsAnother) {
  for (Word Agreement::*const place :
       {&Agreement::segment_bytes, &Agreement::asked_bytes, &Agreement::buffer_bytes, &Agreement::buffer_offset,
        &Agreement::mail_offset, &Agreement::pipe_bytes, &Agreement::one_shot_bytes}) {
    const Agreement right = agreement_;
    agreement_.*place += Word{1} << 40;
    // Of the most that may be taken only what follows from it matters.
    if (place == &Agreement::asked_bytes) agreement_.*place = 0;
    EXPECT_FALSE(fits());
    agreement_ = right;
  }
}

TEST_F(ShmSegment, IsNotBelievedWhereItEndsEarlier) {
  ASSERT_TRUE(fits());
  for (const std::size_t bytes : {std::size_t{0}, sizeof(Agreement), channel_offset, segment_.size() - 1}) {
    EXPECT_FALSE(is_laid_out(std::span(segment_).first(bytes), group_size)) << bytes;
  }
}

TEST_F(ShmSegment, IsNotBelievedWhereAFlagIsNeitherTrueNorFalse) {
  ASSERT_TRUE(fits());
  segment_[offsetof(Agreement, single_copy)] = std::byte{2};
  EXPECT_FALSE(is_laid_out(segment_, group_size));
}

}  // namespace
