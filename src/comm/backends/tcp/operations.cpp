// The operations: alone, in the memory of one host, or over the network with the algorithms that all transports share.

#include "comm/backends/tcp/perform.hpp"
#include "comm/backends/tcp/transport.hpp"

namespace cobre::comm::tcp {
namespace {

#ifdef COBRE_COMM_HAS_SHM
void run_shared(shm::Endpoint& shared, const detail::OperationRecord& record, const detail::BarrierCall&) {
  shared.barrier(record);
}
void run_shared(shm::Endpoint& shared, const detail::OperationRecord& record, const detail::BroadcastCall& call) {
  shared.broadcast(record, call);
}
void run_shared(shm::Endpoint& shared, const detail::OperationRecord& record, const detail::AllreduceCall& call) {
  shared.allreduce(record, call);
}
void run_shared(shm::Endpoint& shared, const detail::OperationRecord& record, const detail::AllgathervCall& call) {
  shared.allgatherv(record, call);
}
#endif

}  // namespace

template <class Call>
void Endpoint::execute(const detail::OperationRecord& record, const Call& call) {
  if (size_ == 1) return alone_.conduct(record, call);
#ifdef COBRE_COMM_HAS_SHM
  if (sentinel_ == nullptr) return run_shared(*shared_, record, call);
#endif
  perform(record, [&] {
#ifdef COBRE_COMM_HAS_SHM
    if (hierarchical()) return run_on_hosts(record, call);
#endif
    run(call);
  });
}

template void Endpoint::execute(const detail::OperationRecord&, const detail::BarrierCall&);
template void Endpoint::execute(const detail::OperationRecord&, const detail::BroadcastCall&);
template void Endpoint::execute(const detail::OperationRecord&, const detail::AllreduceCall&);
template void Endpoint::execute(const detail::OperationRecord&, const detail::AllgathervCall&);

void Endpoint::run(const detail::BarrierCall&) {
  Stride everyone(*wire_, 1);
  algorithms::barrier(everyone);
}
void Endpoint::run(const detail::BroadcastCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::broadcast(everyone, call, tuning_);
}
void Endpoint::run(const detail::AllreduceCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::allreduce(everyone, call, tuning_, scratch_);
}
void Endpoint::run(const detail::AllgathervCall& call) {
  Stride everyone(*wire_, 1);
  algorithms::allgatherv(everyone, call, tuning_, scratch_);
}

}  // namespace cobre::comm::tcp
