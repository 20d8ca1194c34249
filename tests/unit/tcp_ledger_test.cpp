// The page in which a launcher reads what its rank died in, and how a descriptor is found that was handed over.

#include <gtest/gtest.h>

#include <fcntl.h>

#include <cstdint>
#include <string>

#include "comm/backends/tcp/ledger.hpp"
#include "comm/core/descriptor.hpp"
#include "comm/core/inherited.hpp"
#include "comm/core/make_ledger_file.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;

TEST(TcpLedger, TellsTheLauncherWhereTheRankIsAndWhomItBlames) {
  const core::Descriptor file = core::make_ledger_file();
  const auto mapped = core::map_ledger_file(file.get());
  ASSERT_NE(mapped, nullptr);
  const LedgerView view(*mapped);
  EXPECT_FALSE(view.sees());
  EXPECT_EQ(view.sighting().words, "");
  Ledger ledger(file.get());
  EXPECT_FALSE(view.sees());  // ranks of one machine never open it
  ledger.open();
  EXPECT_TRUE(view.sees());
  EXPECT_EQ(view.sighting().words, "while the job gathered");
  const auto perform = [&](detail::Operation operation, std::uint64_t sequence) {
    ledger.journal().enter({.operation = operation, .sequence = sequence});
  };
  perform(detail::Operation::Barrier, 1);
  ledger.journal().leave(1);
  ledger.note_start(1);
  EXPECT_EQ(view.sighting().words, "before its first operation");
  perform(detail::Operation::Barrier, 2);
  EXPECT_EQ(view.sighting().words, "in barrier");
  ledger.journal().leave(2);
  EXPECT_EQ(view.sighting().words, "after barrier");
  EXPECT_FALSE(view.blamed(3));
  ledger.blame(0);
  EXPECT_EQ(view.blamed(3), 0U);
  ledger.blame(2);  // because of the first one
  EXPECT_EQ(view.blamed(3), 0U);
  ledger.note_end();
  EXPECT_EQ(view.sighting().words, "after it had left the job");
}

TEST(TcpLedger, NamesNobodyWhoIsNotOfTheJobAndShowsNothingThatIsNotAWord) {
  const core::Descriptor file = core::make_ledger_file();
  const auto mapped = core::map_ledger_file(file.get());
  ASSERT_NE(mapped, nullptr);
  const LedgerView view(*mapped);
  Ledger ledger(file.get());
  ledger.open();
  ledger.note_start(1);
  auto& page = reinterpret_cast<LedgerPage&>(mapped->first);
  for (const std::uint32_t painted : {0xffff'ffffU, 4U}) {
    page.blamed = painted;
    EXPECT_FALSE(view.blamed(3)) << painted;
  }
  EXPECT_EQ(view.blamed(4), 3U);
  page.mail.peer = 2 * (1 + 1);
  EXPECT_EQ(view.sighting().words, "in a message from rank 1 with tag 0");
  page.mail.name[0] = 0x1b;
  EXPECT_EQ(view.sighting().words, "in a message from rank 1 with tag 0");
}

TEST(TcpLedger, OfASecondCommunicatorDoesNotMixWithThatOfTheFirst) {
  const core::Descriptor file = core::make_ledger_file();
  const auto mapped = core::map_ledger_file(file.get());
  ASSERT_NE(mapped, nullptr);
  const LedgerView view(*mapped);
  Ledger first(file.get());
  first.open();
  first.note_start(1);
  {
    Ledger second(file.get());
    second.open();
    second.note_start(1);
    second.journal().enter({.operation = detail::Operation::Barrier, .sequence = 2});
    EXPECT_EQ(first.journal().entered(), 0U);
    EXPECT_EQ(view.sighting().words, "before its first operation");
  }
  first.journal().enter({.operation = detail::Operation::Broadcast, .sequence = 2});
  EXPECT_EQ(first.journal().entered(), 2U);
}

TEST(TcpLedger, IsTheRanksOwnWhereTheFileIsNotWhatItSeems) {
  const core::Descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  Ledger ledger(file.get());
  ledger.journal().enter({.operation = detail::Operation::Barrier, .sequence = 1});
  EXPECT_EQ(ledger.journal().entered(), 1U);
}

TEST(InheritedDescriptor, IsFoundByTheSameFileAlone) {
  core::Descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const std::string text = core::inherited_text(file.get());
  EXPECT_EQ(core::inherited_descriptor(text), file.get());
  EXPECT_EQ(core::inherited_descriptor(text + "0"), -1);
  for (const char* const nonsense : {"", "x", "3", "3:", "3:4", "3:4:", "3:4:x", ":::", "99999999999999999999:1:1"}) {
    EXPECT_EQ(core::inherited_descriptor(nonsense), -1) << nonsense;
  }
  file = {};
  EXPECT_EQ(core::inherited_descriptor(text), -1);
}

}  // namespace
