#include "comm/backends/tcp/messages.hpp"

#include "comm/core/format.hpp"

namespace cobre::comm::tcp {

Mac seal_of(const Key& session, SealNumber number, std::span<const std::byte> body) {
  return authenticate(session, {label("cobre-comm tcp: sealed"), raw(number), body});
}

Bytes32 masked(const Bytes32& job, const Key& session) {
  // The session's key is used for one job, once: its mask is a pad that never comes again.
  Bytes32 result = authenticate(session, {label("cobre-comm tcp: mask of the job")});
  for (std::size_t i = 0; i < job.size(); ++i) result[i] ^= job[i];
  return result;
}

std::optional<std::string> problem_with(const Member& member, std::size_t size) {
  if (member.size != size) {
    return core::format("rank {} came with COBRE_TCP_SIZE {}, but rank 0 has {}; give all ranks the same", member.rank,
                        member.size, size);
  }
  if (member.rank == 0 || member.rank >= size) {
    return core::format(
        "a process came as rank {}, but ranks other than 0 go from 1 to {}; give each process its own "
        "COBRE_TCP_RANK",
        member.rank, size - 1);
  }
  if (!Address::from_wire(member.door)) {
    return core::format("rank {} came without an address; do all ranks run the same version of this library?",
                        member.rank);
  }
  return std::nullopt;
}

bool is_sensible(const Reply& reply, std::size_t size) noexcept {
  if (reply.kind < ReplyKind::Accepted || reply.kind > ReplyKind::Died) return false;
  return reply.kind != ReplyKind::Died || reply.rank < size;
}

bool is_table(std::span<const Member> members) {
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const Member& member = members[rank];
    if (member.rank != rank || member.size != members.size() || !Address::from_wire(member.door)) return false;
  }
  return true;
}

}  // namespace cobre::comm::tcp
