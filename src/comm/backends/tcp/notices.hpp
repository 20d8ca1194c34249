// What the sentinels of a job tell each other along the control tree: who died, who left, who is where, and what
// follows. Each kind has one size; whatever does not fit is refused before it is looked at.
#pragma once

#include <cobre/comm/detail/operation.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "comm/backends/tcp/handshake.hpp"
#include "comm/backends/tcp/journal.hpp"
#include "comm/backends/tcp/messages.hpp"
#include "comm/core/crossing.hpp"

namespace cobre::comm::tcp {

/// Ranks, one bit each.
struct RankBits {
  std::array<std::uint64_t, largest_job / 64> words{};

  void set(std::size_t rank) noexcept { words[rank / 64] |= std::uint64_t{1} << rank % 64; }
  [[nodiscard]] bool test(std::size_t rank) const noexcept { return (words[rank / 64] >> rank % 64 & 1) != 0; }
  [[nodiscard]] std::vector<std::size_t> list() const {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < largest_job; ++rank) {
      if (test(rank)) ranks.push_back(rank);
    }
    return ranks;
  }
};

enum class VerdictKind : std::uint32_t {
  PeerFailed = 1,
  TimedOut,
  Mismatch,
  LengthMismatch,
  ReductionThrew,
  Unreachable
};

/// Why the job's communicator is finished.
struct Verdict {
  VerdictKind kind = VerdictKind::PeerFailed;
  std::uint32_t subject = 0;  // the rank that failed; in a mismatch the odd one, of lengths the sender
  std::uint32_t other = 0;    // in a mismatch one of the usual ones, of lengths the receiver; whom the subject misses
  std::int32_t pid = 0;
  std::uint64_t waited_microseconds = 0;
  RankBits ranks;                          // missing, or differing
  detail::OperationRecord subject_record;  // of lengths: its count is what was sent …
  detail::OperationRecord other_record;    // … and what was expected
  Text<64> host;
  Text<256> problem;  // why the subject cannot reach the other
};

/// A rank cannot go on, or wonders why it does not.
enum class Question : std::uint32_t { IsAllWell = 1, WhoIsMissing, TimeIsUp, WhoDisagrees };
struct Inquiry {
  Question question = Question::IsAllWell;
  std::uint32_t rank = 0;
  std::uint64_t sequence = 0;
  std::uint64_t waited_microseconds = 0;
};

struct RollCall {
  std::uint64_t number = 0;
};

struct Testimony {
  std::uint64_t call = 0;
  std::uint32_t rank = 0;
  std::uint32_t reserved = 0;
  std::uint64_t entered = 0;
  std::uint64_t left = 0;
  std::array<detail::OperationRecord, Journal::depth> history{};  // record of operation s at s % depth, or sequence 0
  core::Standing requests;                                        // beside those operations
  core::Standing fences;                                          // likewise
  core::Standing base;  // of a duplicate: in the communicator that it was made of, and of that one's requests
};

/// A line that this rank shall give to the sink for warnings.
struct Warning {
  std::uint32_t rank = 0;
  std::uint32_t reserved = 0;
  Text<1528> line;
};

struct Farewell {
  std::uint32_t rank = 0;
  std::uint32_t missed = 0;  // 1 + the rank whose failure made it leave, as another communicator told it; 0: none
  std::uint64_t left = 0;    // the last operation that it joined
};

struct Abort {
  std::int32_t code = 0;
  std::uint32_t rank = 0;
};

/// The answer to whatever asks for one, and now and then without a question: so that the other machine has something to
/// acknowledge.
struct Alive {
  std::uint64_t reserved = 0;
};

enum class NoticeKind : std::uint32_t {
  Verdict = 1,  // to everyone: it is so
  Report,       // towards the root: I believe that
  Inquiry,
  RollCall,
  Testimony,
  Warning,
  Farewell,
  Abort,
  Alive,
};

struct NoticeHead {
  std::uint32_t magic = 0x4e636363U;
  NoticeKind kind = NoticeKind::Verdict;
};

inline constexpr std::size_t largest_notice = sizeof(NoticeHead) + sizeof(Testimony);

/// The bytes after the head; nothing for what is no notice.
[[nodiscard]] std::optional<std::size_t> body_bytes(const NoticeHead& head) noexcept;

template <class Body>
[[nodiscard]] std::vector<std::byte> notice(NoticeKind kind, const Body& body) {
  static_assert(std::has_unique_object_representations_v<Body>);
  const NoticeHead head{.kind = kind};
  std::vector<std::byte> bytes(sizeof head + sizeof body);
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, &body, sizeof body);
  return bytes;
}

/// A body as it came; `is_sensible` says whether its numbers may be used.
template <class Body>
[[nodiscard]] Body read_body(std::span<const std::byte> bytes) noexcept {
  Body body;
  std::memcpy(&body, bytes.data(), sizeof body);
  return body;
}
[[nodiscard]] bool is_sensible(const detail::OperationRecord& record) noexcept;
[[nodiscard]] bool is_sensible(const Verdict& verdict, std::size_t size) noexcept;
[[nodiscard]] bool is_sensible(const Inquiry& inquiry, std::size_t size) noexcept;
[[nodiscard]] bool is_sensible(const core::Standing& standing) noexcept;
[[nodiscard]] bool is_sensible(const Testimony& testimony, std::size_t size) noexcept;
[[nodiscard]] bool is_sensible(const Warning& warning, std::size_t size) noexcept;
[[nodiscard]] bool is_sensible(const Farewell& farewell, std::size_t size) noexcept;
[[nodiscard]] bool is_sensible(const Abort& abort, std::size_t size) noexcept;

/// What a rank believes to have happened; a verdict is what the root makes of it.
struct Report {
  Verdict verdict;
};
using Heard = std::variant<Verdict, Report, Inquiry, RollCall, Testimony, Warning, Farewell, Abort, Alive>;
/// What a notice says to a rank of a job of that size, all of its numbers fit for use; nothing where they are not.
[[nodiscard]] std::optional<Heard> understand(NoticeKind kind, std::span<const std::byte> body, std::size_t size);

/// Cuts a stream of bytes into notices. Holds no more than one of them.
class NoticeReader {
 public:
  /// Where the next bytes go: never empty.
  [[nodiscard]] std::span<std::byte> wanted() noexcept;
  enum class Found { Nothing, Notice, Nonsense };
  /// So many came. A notice stays readable until the next call of `wanted`.
  [[nodiscard]] Found advance(std::size_t bytes) noexcept;
  [[nodiscard]] NoticeKind kind() const noexcept { return head_.kind; }
  [[nodiscard]] std::span<const std::byte> body() const noexcept {
    return std::span(buffer_).subspan(sizeof(NoticeHead), expected_ - sizeof(NoticeHead));
  }
  [[nodiscard]] std::span<const std::byte> whole() const noexcept { return std::span(buffer_).first(expected_); }

 private:
  std::array<std::byte, largest_notice> buffer_{};
  NoticeHead head_;
  std::size_t got_ = 0;
  std::size_t expected_ = sizeof(NoticeHead);
  bool complete_ = false;
};

}  // namespace cobre::comm::tcp
