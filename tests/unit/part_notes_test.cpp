// What a rank notes of communicators that were made of others, and what its launcher makes of it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <vector>

#include "comm/algorithms/part_notes.hpp"
#include "comm/algorithms/whereabouts.hpp"
#include "comm/core/fiber.hpp"
#include "comm/core/make_ledger_file.hpp"

namespace cobre::comm::algorithms {
namespace {

using detail::Operation;

class PartNotes : public testing::Test {
 protected:
  NotedPart part(MadeBy how = MadeBy::Split, std::size_t rank = 0, std::size_t size = 2) {
    return {table_, how, rank, size, first_left_};
  }
  static void perform(NotedPart& part, Operation operation, std::uint64_t sequence) {
    part.enter({.operation = operation, .sequence = sequence});
    part.leave(sequence);
  }
  [[nodiscard]] std::string seen(Sighting::Kind kind = Sighting::Kind::Between,
                                 const std::string& words = "after split") const {
    return whereabouts({kind, words, first_left_->load()}, *mapped_);
  }

  core::Descriptor file_ = core::make_ledger_file();
  std::shared_ptr<core::LedgerFile> mapped_ = core::map_ledger_file(file_.get());
  PartTable table_{core::map_ledger_file(file_.get())};
  std::shared_ptr<std::atomic<std::uint64_t>> first_left_ = std::make_shared<std::atomic<std::uint64_t>>(5);
};

TEST_F(PartNotes, TellWhatIsUnderWayAndThenWhatWasTheLast) {
  NotedPart one = part();
  ASSERT_TRUE(one);
  EXPECT_EQ(seen(), "after split");
  one.enter({.operation = Operation::Barrier, .sequence = 1});
  EXPECT_EQ(seen(), "in barrier of a communicator of 2 ranks made by split");
  one.leave(1);
  EXPECT_EQ(seen(), "after barrier of a communicator of 2 ranks made by split");
  first_left_->store(6);  // the first communicator has done something since
  EXPECT_EQ(seen(Sighting::Kind::Between, "after allgather"), "after allgather");
}

TEST_F(PartNotes, NameTheRanksOwnNumberWhereOthersAreNamed) {
  NotedPart one = part(MadeBy::Duplicate, 3, 4);
  one.enter({.operation = Operation::Broadcast, .element_size = 1, .count = 7, .root = 1, .sequence = 1});
  EXPECT_EQ(seen(),
            "in broadcast of 7 elements of 1 bytes from root 1 of a communicator of 4 ranks made by duplicate, "
            "where it is rank 3");
  one.leave(1);
  std::byte room{};
  const detail::Transfer transfer("recv", {.peer = 2, .tag = 9}, &room, 1, 1, true);
  const Noted waiting(one.mail(), transfer);
  EXPECT_EQ(seen(),
            "in recv from rank 2 with tag 9 of a communicator of 4 ranks made by duplicate, where it is rank 3");
}

TEST_F(PartNotes, NameAllThatComeIntoQuestion) {
  NotedPart rows = part(MadeBy::Split, 0, 2);
  NotedPart columns = part(MadeBy::Split, 1, 3);
  perform(rows, Operation::Barrier, 1);
  perform(columns, Operation::Allgather, 1);
  EXPECT_EQ(seen(),
            "after barrier of a communicator of 2 ranks made by split or after allgather of 0 elements of 0 "
            "bytes of a communicator of 3 ranks made by split");
  rows.enter({.operation = Operation::Barrier, .sequence = 2});
  EXPECT_EQ(seen(), "in barrier of a communicator of 2 ranks made by split");
  EXPECT_EQ(seen(Sighting::Kind::In, "in fence of region 1"),
            "in fence of region 1 and in barrier of a communicator of 2 ranks made by split");
}

TEST_F(PartNotes, CountAnOperationThatThrewAsOverButNotAsLeft) {
  NotedPart one = part();
  one.enter({.operation = Operation::Barrier, .sequence = 1});
  one.leave_by_exception(1);
  EXPECT_EQ(seen(), "in barrier of a communicator of 2 ranks made by split");
  first_left_->store(6);  // the program went on without it
  EXPECT_EQ(seen(), "after split");
}

TEST_F(PartNotes, SetWhatNobodyWaitsForBehindWhatTheCallerIsIn) {
  NotedPart lane = part(MadeBy::Duplicate, 0, 2);
  core::Fiber fiber;
  fiber.start(
      [](void* noted) { static_cast<NotedPart*>(noted)->enter({.operation = Operation::Barrier, .sequence = 1}); },
      &lane);
  ASSERT_TRUE(fiber.done());
  EXPECT_EQ(seen(), "after split, with nonblocking barrier under way");
  EXPECT_EQ(seen(Sighting::Kind::In, "in allgather"), "in allgather");
  lane.leave(1);
  EXPECT_EQ(seen(), "after nonblocking barrier");
}

TEST_F(PartNotes, KeepTheLastOfACommunicatorThatIsGoneUntilAnotherNeedsTheRoom) {
  {
    NotedPart gone = part();
    perform(gone, Operation::Barrier, 1);
  }
  EXPECT_EQ(seen(), "after barrier of a communicator of 2 ranks made by split");
  EXPECT_EQ(seen(Sighting::Kind::Gone, "after it had left the group"),
            "after barrier of a communicator of 2 ranks made by split, or after it had left the group");
  for (std::size_t i = 0; i < PartPage::count; ++i) {
    const NotedPart another = part();
    EXPECT_TRUE(another);
  }
  EXPECT_EQ(seen(), "after split");
}

TEST_F(PartNotes, SayHowManyCommunicatorsTheyDoNotSee) {
  std::vector<NotedPart> parts;
  parts.reserve(PartPage::count);
  for (std::size_t i = 0; i < PartPage::count; ++i) parts.push_back(part());
  {
    const NotedPart unseen = part();
    EXPECT_FALSE(unseen);
    EXPECT_EQ(seen(), "after split, or in one of 1 communicators more than the 32 that it keeps notes of");
  }
  EXPECT_EQ(seen(), "after split");
  parts.pop_back();
  EXPECT_TRUE(part());
}

TEST_F(PartNotes, AreNotForForkedChildren) {
  std::optional<NotedPart> one(part());
  one->enter({.operation = Operation::Barrier, .sequence = 1});
  const pid_t child = fork();
  if (child == 0) {
    one.reset();
    _exit(part() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(seen(), "in barrier of a communicator of 2 ranks made by split");
}

TEST_F(PartNotes, OfAnotherLayoutAreNotRead) {
  NotedPart one = part();
  one.enter({.operation = Operation::Barrier, .sequence = 1});
  reinterpret_cast<PartPage&>(mapped_->parts).layout.store(PartPage::this_layout + 1);
  EXPECT_EQ(seen(), "after split");
}

// Memory that a dying rank has written all over must not take the launcher with it, nor reach a terminal.
TEST_F(PartNotes, ThatAreRubbishAreReadAllTheSame) {
  auto& page = reinterpret_cast<PartPage&>(mapped_->parts);
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    for (std::size_t at = 0; at < sizeof(PartPage); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = random() >> (random() % 64);
      std::memcpy(reinterpret_cast<std::byte*>(&page) + at, &word, sizeof word);
    }
    page.layout.store(PartPage::this_layout);
    for (const char c : seen()) ASSERT_TRUE(c >= ' ' && c <= '~');
  }
}

TEST(PartTable, WithoutALauncherKeepsNothing) {
  PartTable table(nullptr);
  const NotedPart part(table, MadeBy::Split, 0, 2, nullptr);
  EXPECT_FALSE(part);
}

TEST(PartTable, BeginsAnewInEveryProgramThatIsTheRank) {
  const core::Descriptor file = core::make_ledger_file();
  const auto mapped = core::map_ledger_file(file.get());
  ASSERT_NE(mapped, nullptr);
  const auto left = std::make_shared<std::atomic<std::uint64_t>>(0);
  PartTable before(mapped);
  NotedPart part(before, MadeBy::Split, 0, 2, left);
  part.enter({.operation = Operation::Barrier, .sequence = 1});
  const PartTable table(mapped);
  EXPECT_EQ(whereabouts({Sighting::Kind::Between, "before its first operation", 0}, *mapped),
            "before its first operation");
}

}  // namespace
}  // namespace cobre::comm::algorithms
