// The frame around every operation of an endpoint.
#pragma once

#include "comm/algorithms/collectives.hpp"
#include "comm/backends/tcp/endpoint.hpp"
#include "comm/backends/tcp/verdict.hpp"
#include "comm/core/chain.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/exclusive.hpp"
#include "comm/core/progress.hpp"

namespace cobre::comm::tcp {

template <class Body>
void Endpoint::perform(const detail::OperationRecord& record, Body&& body) {
  const Where where{detail::to_string(record.operation), rank_, size_};
  if (guard_.in_child()) [[unlikely]]
    core::throw_in_child(where);
  backlog_.clear();
  const core::Exclusive exclusive(busy_, where);
  if (finished_) [[unlikely]]
    throw InvalidCommunicator(where, *finished_);
  if (sentinel_->finished()) [[unlikely]] {
    finished_ = explain(sentinel_->verdict());
    sentinel_->conclude(where);
  }
  current_ = record.operation;
  detail::OperationRecord numbered = record;
  numbered.sequence = ++sequence_;
  chain_ = core::extend(chain_, record);
  ledger_.journal().enter(numbered);
  if (noted_) noted_.enter(numbered);
  // Who makes a lane of a duplicate runs nothing for what that is a duplicate of.
  const bool makes_lane = record.operation == detail::Operation::Duplicate;
  if (base_ != nullptr && !makes_lane && core::is_beside_caller()) {
    runs_requests_ = true;
    base_->requests.begin(numbered);
  }
  wire_->begin(where, numbered, chain_);
  try {
    core::crash_point<"tcp.entered">();
    body();
    core::crash_point<"tcp.about_to_leave">();
  } catch (const algorithms::ReductionThrew&) {
    // The exception itself waits in the call and is rethrown above.
    Verdict verdict = sentinel_->failure_of(rank_);
    verdict.kind = VerdictKind::ReductionThrew;
    finish(verdict);
  } catch (...) {
    finish(sentinel_->failure_of(rank_));
    if (noted_) noted_.leave_by_exception(sequence_);
    throw;
  }
  ledger_.journal().leave(sequence_);
  if (noted_) noted_.leave(sequence_);
  core::crash_point<"tcp.left">();
}

}  // namespace cobre::comm::tcp
