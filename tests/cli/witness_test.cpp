// Whom the launcher takes for the first one to fail, of what the ranks' ledgers say: one that dies may have written
// all over its own.

#include "run/witness.hpp"

#include <gtest/gtest.h>

#include <cstddef>

#include "comm/backends/tcp/ledger.hpp"

namespace cobre::command {
namespace {

/// A child that blames a rank of the job, as it stands in its ledger after it has died.
void blame(const GroupView& view, std::size_t child, std::size_t rank) {
  const auto handed = view.ledger(child);
  ASSERT_TRUE(handed);
  comm::tcp::Ledger ledger(handed->descriptor);
  ledger.open();
  ledger.note_start(1);
  ledger.blame(rank);
}

TEST(GroupView, FollowsBlameToTheRankWithWhichItBegan) {
  const GroupView view(0, 3, 3);
  EXPECT_FALSE(view.first_to_fail());
  blame(view, 0, 2);
  blame(view, 2, 1);
  EXPECT_EQ(view.first_to_fail(), 1U);
}

TEST(GroupView, NamesARankOfAnotherHost) {
  const GroupView view(2, 2, 6);
  blame(view, 0, 5);
  EXPECT_EQ(view.first_to_fail(), 5U);
}

TEST(GroupView, NamesNobodyWhoIsNotOfTheJob) {
  const GroupView view(0, 3, 3);
  blame(view, 0, 3);
  blame(view, 1, 0xffff'fff0);
  EXPECT_FALSE(view.first_to_fail());
  blame(view, 2, 1);  // who blames nobody that there is
  EXPECT_EQ(view.first_to_fail(), 1U);
}

}  // namespace
}  // namespace cobre::command
