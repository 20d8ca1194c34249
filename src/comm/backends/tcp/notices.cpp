#include "comm/backends/tcp/notices.hpp"

#include <algorithm>

namespace cobre::comm::tcp {

std::optional<std::size_t> body_bytes(const NoticeHead& head) noexcept {
  if (head.magic != NoticeHead{}.magic) return std::nullopt;
  switch (head.kind) {
    case NoticeKind::Verdict:
    case NoticeKind::Report: return sizeof(Verdict);
    case NoticeKind::Inquiry: return sizeof(Inquiry);
    case NoticeKind::RollCall: return sizeof(RollCall);
    case NoticeKind::Testimony: return sizeof(Testimony);
    case NoticeKind::Warning: return sizeof(Warning);
    case NoticeKind::Farewell: return sizeof(Farewell);
    case NoticeKind::Abort: return sizeof(Abort);
    case NoticeKind::Alive: return sizeof(Alive);
  }
  return std::nullopt;
}

// Enumerations of a record become names in messages: what is none of them must not index a table of names.
bool is_sensible(const detail::OperationRecord& record) noexcept {
  const bool reduction = record.reduction < reduce_op_count || record.reduction == detail::no_reduction ||
                         record.reduction == detail::callable_reduction;
  return record.operation <= detail::last_operation && reduction &&
         static_cast<std::size_t>(record.type) < element_type_count;
}

bool is_sensible(const Verdict& verdict, std::size_t size) noexcept {
  return verdict.kind >= VerdictKind::PeerFailed && verdict.kind <= VerdictKind::Unreachable &&
         verdict.subject < size && verdict.other < size && is_sensible(verdict.subject_record) &&
         is_sensible(verdict.other_record);
}

bool is_sensible(const Inquiry& inquiry, std::size_t size) noexcept {
  return inquiry.question >= Question::IsAllWell && inquiry.question <= Question::WhoDisagrees && inquiry.rank < size;
}

bool is_sensible(const core::Standing& standing) noexcept {
  return is_sensible(standing.last) &&
         std::ranges::all_of(standing.beside, [](const auto& record) { return is_sensible(record); });
}

bool is_sensible(const Testimony& testimony, std::size_t size) noexcept {
  return testimony.rank < size &&
         std::ranges::all_of(testimony.history, [](const auto& record) { return is_sensible(record); }) &&
         is_sensible(testimony.requests) && is_sensible(testimony.fences) && is_sensible(testimony.base);
}

bool is_sensible(const Warning& warning, std::size_t size) noexcept {
  return warning.rank < size;
}

bool is_sensible(const Farewell& farewell, std::size_t size) noexcept {
  return farewell.rank < size && farewell.missed <= size;
}

bool is_sensible(const Abort& abort, std::size_t size) noexcept {
  return abort.rank < size;
}

std::optional<Heard> understand(NoticeKind kind, std::span<const std::byte> body, std::size_t size) {
  const auto if_sensible = [size](const auto& said) -> std::optional<Heard> {
    if (!is_sensible(said, size)) return std::nullopt;
    return said;
  };
  switch (kind) {
    case NoticeKind::Verdict: return if_sensible(read_body<Verdict>(body));
    case NoticeKind::Report: {
      const auto verdict = read_body<Verdict>(body);
      if (!is_sensible(verdict, size)) return std::nullopt;
      return Report{verdict};
    }
    case NoticeKind::Inquiry: return if_sensible(read_body<Inquiry>(body));
    case NoticeKind::RollCall: return read_body<RollCall>(body);
    case NoticeKind::Testimony: return if_sensible(read_body<Testimony>(body));
    case NoticeKind::Warning: return if_sensible(read_body<Warning>(body));
    case NoticeKind::Farewell: return if_sensible(read_body<Farewell>(body));
    case NoticeKind::Abort: return if_sensible(read_body<Abort>(body));
    case NoticeKind::Alive: return read_body<Alive>(body);
  }
  return std::nullopt;
}

std::span<std::byte> NoticeReader::wanted() noexcept {
  if (complete_) {
    complete_ = false;
    got_ = 0;
    expected_ = sizeof(NoticeHead);
  }
  return std::span(buffer_).subspan(got_, expected_ - got_);
}

NoticeReader::Found NoticeReader::advance(std::size_t bytes) noexcept {
  got_ += bytes;
  if (got_ < expected_) return Found::Nothing;
  if (expected_ == sizeof(NoticeHead)) {
    std::memcpy(&head_, buffer_.data(), sizeof head_);
    const auto body = body_bytes(head_);
    if (!body) return Found::Nonsense;
    expected_ += *body;
    return Found::Nothing;
  }
  complete_ = true;
  return Found::Notice;
}

}  // namespace cobre::comm::tcp
