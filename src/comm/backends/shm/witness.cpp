#include "comm/backends/shm/witness.hpp"

#include <fcntl.h>

#include <algorithm>

#include "comm/backends/shm/messages.hpp"
#include "comm/core/describe_operation.hpp"

namespace cobre::comm::shm {
namespace {

struct View {
  std::uint64_t magic = protocol_magic;
  std::uint64_t layout = Hello{}.layout;
  std::uint64_t bytes = 0;
  std::uint64_t ranks = 0;
};

std::string named(const RankBlock& rank, Word sequence) {
  const auto noted = rank.records[sequence % record_depth].copy(sequence);
  // Memory that a dying rank has written all over must not take the launcher with it.
  if (!noted || noted->record.operation > detail::last_operation) return "an operation";
  return core::describe(noted->record);
}

}  // namespace

void admit_witness(int socket, const core::Descriptor& memory, std::size_t bytes, std::size_t ranks) noexcept {
  (void)fcntl(socket, F_SETFD, FD_CLOEXEC);  // programs that this rank starts have no part in the group
  const View view{.bytes = bytes, .ranks = ranks};
  const int descriptor = memory.get();
  (void)send_bytes(socket, std::as_bytes(std::span(&view, 1)), std::span(&descriptor, 1));
}

std::optional<Witness> Witness::receive(const core::Descriptor& socket) {
  View view;
  std::vector<core::Descriptor> descriptors;
  if (receive_message(socket, view, descriptors) != Received::Message || descriptors.size() != 1) return std::nullopt;
  const View expected;
  const bool fits = view.ranks >= 1 && view.ranks <= largest_group &&
                    view.bytes >= channel_offset + ChannelBlock::bytes(static_cast<std::size_t>(view.ranks));
  // Another version of this library: its ranks run all the same, unseen.
  if (view.magic != expected.magic || view.layout != expected.layout || !fits) return std::nullopt;
  try {
    const Where where{"witness", 0, view.ranks};
    return Witness(Mapping(where, descriptors.front(), view.bytes, Access::Read), view.ranks);
  } catch (const AllocationFailed&) {
    return std::nullopt;
  }
}

ChannelBlock& Witness::block() const noexcept {
  return *reinterpret_cast<ChannelBlock*>(segment_.data() + channel_offset);
}

algorithms::Sighting Witness::sighting(std::size_t rank) const {
  using Kind = algorithms::Sighting::Kind;
  const RankBlock& one = block().rank(rank);
  const Word attached = one.attached.load(std::memory_order_acquire);
  const Word finished = one.finished.sequence.load(std::memory_order_acquire);
  Word entered = 0;
  for (const RecordLine& line : one.records) entered = std::max(entered, line.number.load(std::memory_order_acquire));
  if (attached == 0) return {Kind::Gathering, "while the group gathered"};
  if (one.presence.load(std::memory_order_acquire) == static_cast<std::uint32_t>(Presence::Left)) {
    return {Kind::Gone, "after it had left the group", finished};
  }
  if (const std::string message = algorithms::words_of(one.mail); !message.empty()) {
    return {Kind::In, "in " + message, finished};
  }
  if (entered > finished) return {Kind::In, "in " + named(one, entered), finished};
  return {Kind::Between, finished <= attached ? "before its first operation" : "after " + named(one, finished),
          finished};
}

std::optional<std::size_t> Witness::first_to_fail() const {
  const Verdict& verdict = block().verdict;
  if (verdict.state.load(std::memory_order_acquire) % 2 == 0) return std::nullopt;  // none, or not all of it is there
  const bool names_one = verdict.kind == VerdictKind::PeerFailed || verdict.kind == VerdictKind::ReductionThrew;
  if (!names_one || verdict.subject >= ranks_) return std::nullopt;
  return verdict.subject;
}

}  // namespace cobre::comm::shm
