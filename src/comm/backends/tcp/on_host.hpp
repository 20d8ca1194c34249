// The frame around what the ranks of one host do in its memory, for the whole job.
#pragma once

#include <chrono>

#include "comm/backends/tcp/endpoint.hpp"

namespace cobre::comm::tcp {

#ifdef COBRE_COMM_HAS_SHM

// Not every operation comes by the memory, so what is compared there is all that the ranks have done until now: one
// that went another way over the network is found out here. The root, if there is one, is part of that.
template <class Step>
void Endpoint::on_host(const detail::OperationRecord& record, Step&& step) {
  constexpr std::chrono::seconds grace{1};  // for the verdict to arrive, after something failed in shared memory
  detail::OperationRecord everything = record;
  everything.root = chain_;
  try {
    step(*shared_, everything);
    return;  // also where something has failed since: that is for the next operation
  } catch (const CollectiveMismatch&) {
    sentinel_->report_disagreement(sequence_);
  } catch (const PeerFailed& error) {
    // A neighbour that died is seen here first; one that gave up did so for a reason that comes over the network.
    if (!sentinel_->await_verdict(patience_with_reason)) sentinel_->report(sentinel_->failure_of(error.rank()));
  } catch (const CommError&) {
    if (!sentinel_->await_verdict(grace)) throw;
  }
  if (sentinel_->finished()) [[unlikely]]
    sentinel_->conclude({detail::to_string(current_), rank_, size_});
}
#endif

}  // namespace cobre::comm::tcp
