// The operations: alone, in the memory of one host, or over the network with the algorithms that all transports share.

#include "comm/backends/tcp/perform.hpp"
#include "comm/backends/tcp/transport.hpp"
#include "comm/core/every_call.hpp"

namespace cobre::comm::tcp {
namespace {

// The others go from rank to rank, wherever the ranks are.
template <class Call>
constexpr bool has_way_by_hosts =
    std::is_same_v<Call, detail::BarrierCall> || std::is_same_v<Call, detail::BroadcastCall> ||
    std::is_same_v<Call, detail::AllreduceCall> || std::is_same_v<Call, detail::AllgathervCall>;

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
    if constexpr (has_way_by_hosts<Call>) {
      if (hierarchical()) {
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
  Stride everyone(*wire_, 1);
  algorithms::barrier(everyone);
}
void Endpoint::run(const detail::BroadcastCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::broadcast(everyone, call, tuning());
}
void Endpoint::run(const detail::AllreduceCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::allreduce(everyone, call, tuning(), scratch_);
}
void Endpoint::run(const detail::AllgathervCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::allgatherv(everyone, call, tuning(), scratch_);
}
void Endpoint::run(const detail::GatherCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::gather(everyone, call, tuning(), scratch_);
}
void Endpoint::run(const detail::ScatterCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::scatter(everyone, call, tuning(), scratch_);
}
void Endpoint::run(const detail::AlltoallCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::alltoall(everyone, call);
}
void Endpoint::run(const detail::ReduceCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::reduce(everyone, call, tuning(), scratch_);
}
void Endpoint::run(const detail::ScanCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::scan(everyone, call, tuning(), scratch_);
}
void Endpoint::run(const detail::ReduceScatterCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::reduce_scatter(everyone, call, tuning(), scratch_);
}

}  // namespace cobre::comm::tcp
