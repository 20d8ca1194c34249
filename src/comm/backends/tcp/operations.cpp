// The operations: alone, in the memory of one host, or over the network with the algorithms that all transports share.

#include "comm/backends/tcp/perform.hpp"
#include "comm/backends/tcp/transport.hpp"
#include "comm/core/every_call.hpp"

namespace cobre::comm::tcp {
namespace {

// Through the memory of each host and between their first ranks. The others go from rank to rank, wherever the ranks
// are.
template <class Call>
constexpr bool reduces_by_hosts = std::is_same_v<Call, detail::AllreduceCall>;
template <class Call>
constexpr bool moves_by_hosts =
    std::is_same_v<Call, detail::BarrierCall> || std::is_same_v<Call, detail::BroadcastCall> ||
    std::is_same_v<Call, detail::AllgathervCall>;

constexpr bool some_only_send(detail::Operation operation) noexcept {
  return detail::is_rooted(operation) || operation == detail::Operation::Scan || operation == detail::Operation::Exscan;
}

}  // namespace

template <class Call>
void Endpoint::execute(const detail::OperationRecord& record, const Call& call) {
  if (size_ == 1) return alone_.conduct(record, call);
#ifdef COBRE_COMM_HAS_SHM
  if (sentinel_ == nullptr) return shared_->execute(record, call);
#endif
  perform(record, [&] {
    // Who only sends hears from nobody: now and then it has to, or it would run ahead of ranks that are somewhere else.
    // All ranks count alike, so all come.
    constexpr std::uint64_t operations_on_trust = 64;
    streamed_ = some_only_send(record.operation) ? streamed_ + 1 : 0;
    const bool meet_again = streamed_ % operations_on_trust == operations_on_trust - 1;
#ifdef COBRE_COMM_HAS_SHM
    if constexpr (moves_by_hosts<Call> || reduces_by_hosts<Call>) {
      if (moves_by_hosts<Call> ? hosts_.one_speaks : hierarchical()) {
        if (meet_again) run_on_hosts(record, detail::BarrierCall{});
        return run_on_hosts(record, call);
      }
    }
#endif
    if (meet_again) run(detail::BarrierCall{});
    run(call);
  });
}

COBRE_COMM_COMPILE_EXECUTE(Endpoint, );

void Endpoint::run(const detail::BarrierCall&) {
  algorithms::barrier(*wire_);
}
void Endpoint::run(const detail::BroadcastCall& call) {
  algorithms::broadcast(*wire_, call, tuning());
}
void Endpoint::run(const detail::AllreduceCall& call) {
  algorithms::allreduce(*wire_, call, tuning(), scratch_);
}
void Endpoint::run(const detail::AllgathervCall& call) {
  algorithms::allgatherv(*wire_, call, tuning(), scratch_);
}
void Endpoint::run(const detail::GatherCall& call) {
  algorithms::gather(*wire_, call, tuning(), scratch_);
}
void Endpoint::run(const detail::ScatterCall& call) {
  algorithms::scatter(*wire_, call, tuning(), scratch_);
}
void Endpoint::run(const detail::AlltoallCall& call) {
  algorithms::alltoall(*wire_, call);
}
void Endpoint::run(const detail::ReduceCall& call) {
  algorithms::reduce(*wire_, call, tuning(), scratch_);
}
void Endpoint::run(const detail::ScanCall& call) {
  algorithms::scan(*wire_, call, tuning(), scratch_);
}
void Endpoint::run(const detail::ReduceScatterCall& call) {
  algorithms::reduce_scatter(*wire_, call, tuning(), scratch_);
}

}  // namespace cobre::comm::tcp
