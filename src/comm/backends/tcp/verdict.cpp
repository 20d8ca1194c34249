// The verdict in words.

#include "comm/backends/tcp/verdict.hpp"
#include "comm/backends/tcp/sentinel.hpp"
#include "comm/core/describe_operation.hpp"
#include "comm/core/disagreement.hpp"
#include "comm/core/format.hpp"
#include "comm/core/text.hpp"

namespace cobre::comm::tcp {

std::string explain(const Verdict& verdict) {
  switch (verdict.kind) {
    case VerdictKind::PeerFailed: return core::format("rank {} died or left the group", verdict.subject);
    case VerdictKind::TimedOut:
      return core::format("{} did not join an operation in time", core::rank_list(verdict.ranks.list()));
    case VerdictKind::Mismatch: return "the ranks called different operations";
    case VerdictKind::LengthMismatch: return "the ranks did not agree on their counts";
    case VerdictKind::ReductionThrew:
      return core::format("the reduction of the user threw on rank {}", verdict.subject);
    case VerdictKind::Unreachable: return verdict.problem.words();
  }
  return "an operation failed";
}

void throw_verdict(const Where& where, const Verdict& verdict) {
  switch (verdict.kind) {
    case VerdictKind::PeerFailed: {
      FailedPeer peer{.rank = verdict.subject, .host = {}, .pid = {}, .signal = {}, .exit_code = {}};
      if (std::string host = verdict.host.words(); !host.empty()) peer.host = std::move(host);
      if (verdict.pid != 0) peer.pid = verdict.pid;
      throw PeerFailed(where, std::move(peer));
    }
    case VerdictKind::TimedOut:
      throw TimedOut(where, static_cast<double>(verdict.waited_microseconds) * 1e-6, verdict.ranks.list());
    case VerdictKind::Mismatch:
      core::throw_mismatch(where, {.usual = verdict.other,
                                   .usual_record = verdict.other_record,
                                   .odd = verdict.subject,
                                   .odd_record = verdict.subject_record,
                                   .ranks = verdict.ranks.list()});
    case VerdictKind::LengthMismatch:
      core::throw_length_mismatch(where, {.sender = verdict.subject,
                                          .receiver = verdict.other,
                                          .sent = verdict.subject_record.count,
                                          .expected = verdict.other_record.count});
    case VerdictKind::ReductionThrew:
    case VerdictKind::Unreachable: break;
  }
  throw CollectiveFailed(where, 0, explain(verdict));
}

// Before anything is thrown, because this rank may then be gone before anybody else has told those who wait elsewhere.
void Sentinel::conclude(const Where& where) const {
  const Verdict known = verdict();
  const bool crossed = known.kind == VerdictKind::Mismatch &&
                       (core::is_beside(known.subject_record) || core::is_beside(known.other_record));
  if (crossed && settings_.on_crossing) settings_.on_crossing(known);
  throw_verdict(where, known);
}

}  // namespace cobre::comm::tcp
