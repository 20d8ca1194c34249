// What ranks tell each other beside their data: notices in a stream, and the header of a message.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "comm/backends/tcp/notices.hpp"
#include "comm/backends/tcp/wire.hpp"

namespace {

using namespace cobre::comm;
using namespace cobre::comm::tcp;

TEST(TcpNotices, AreFoundInAStreamHoweverItIsCut) {
  std::vector<std::byte> stream = notice(NoticeKind::Farewell, Farewell{.rank = 3, .left = 99});
  const auto second = notice(NoticeKind::RollCall, RollCall{7});
  stream.insert(stream.end(), second.begin(), second.end());
  for (std::size_t cut = 1; cut < 20; ++cut) {
    NoticeReader reader;
    std::vector<NoticeKind> found;
    for (std::size_t at = 0; at < stream.size();) {
      const auto room = reader.wanted();
      ASSERT_FALSE(room.empty());
      const std::size_t take = std::min({cut, room.size(), stream.size() - at});
      std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), take, room.begin());
      at += take;
      if (reader.advance(take) == NoticeReader::Found::Notice) found.push_back(reader.kind());
    }
    EXPECT_EQ(found, (std::vector{NoticeKind::Farewell, NoticeKind::RollCall})) << "cut " << cut;
  }
}

TEST(TcpNotices, OfAnUnknownKindEndTheStream) {
  NoticeReader reader;
  const NoticeHead head{.kind = static_cast<NoticeKind>(77)};
  std::memcpy(reader.wanted().data(), &head, sizeof head);
  EXPECT_EQ(reader.advance(sizeof head), NoticeReader::Found::Nonsense);
}

TEST(TcpHeader, IsComparedFieldByField) {
  const Header usual{.from = 1, .bytes = 8, .sequence = 5, .chain = 42};
  EXPECT_EQ(compare(usual, usual), Fit::Yes);
  const auto changed = [&](auto change) {
    Header other = usual;
    change(other);
    return compare(usual, other);
  };
  EXPECT_EQ(changed([](Header& header) { header.magic ^= 1; }), Fit::Nonsense);
  EXPECT_EQ(changed([](Header& header) { header.from = 2; }), Fit::Nonsense);
  EXPECT_EQ(changed([](Header& header) { header.bytes = 9; }), Fit::AnotherLength);
  EXPECT_EQ(changed([](Header& header) { header.sequence = 6; }), Fit::AnotherOperation);
  EXPECT_EQ(changed([](Header& header) { header.chain = 43; }), Fit::AnotherOperation);
}

}  // namespace
