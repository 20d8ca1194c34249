// The operations where hosts form whole branches of the canonical tree: the ranks of a host work in its memory, and the
// first of them speaks for it on the network. What that gives is what the ranks one by one would give, to the bit.

#include <cstring>
#include <numeric>

#include "comm/backends/tcp/on_host.hpp"
#include "comm/backends/tcp/perform.hpp"
#include "comm/backends/tcp/transport.hpp"

namespace cobre::comm::tcp {

#ifdef COBRE_COMM_HAS_SHM
void Endpoint::run_on_hosts(const detail::OperationRecord& record, const detail::BarrierCall&) {
  on_host(record, [](shm::Endpoint& host, const auto& all) { host.barrier(all); });
  if (hosts_.place == 0) {
    Stride leaders(*wire_, hosts_.step);
    algorithms::barrier(leaders);
  }
  on_host(record, [](shm::Endpoint& host, const auto& all) { host.barrier(all); });
}

void Endpoint::run_on_hosts(const detail::OperationRecord& record, const detail::BroadcastCall& call) {
  const std::size_t root_host = call.root / hosts_.step;
  const bool at_root = hosts_.own == root_host;
  const auto on_this_host = [&] {
    const detail::BroadcastCall local{call.buffer, call.bytes, at_root ? call.root % hosts_.step : 0};
    on_host(record, [&](shm::Endpoint& host, const auto& all) { host.broadcast(all, local); });
  };
  if (at_root) on_this_host();
  if (hosts_.place == 0) {
    Stride leaders(*wire_, hosts_.step);
    algorithms::broadcast(leaders, {call.buffer, call.bytes, root_host}, tuning_);
  }
  if (!at_root) on_this_host();
}

void Endpoint::run_on_hosts(const detail::OperationRecord& record, const detail::AllreduceCall& call) {
  on_host(record, [&](shm::Endpoint& host, const auto& all) { host.allreduce(all, call); });
  if (call.thrown != nullptr && *call.thrown != nullptr) throw algorithms::ReductionThrew{};
  if (hosts_.place == 0) {
    Stride leaders(*wire_, hosts_.step);
    detail::AllreduceCall between = call;
    between.send = call.recv;
    algorithms::allreduce(leaders, between, tuning_, scratch_);
  }
  on_host(record, [&](shm::Endpoint& host, const auto& all) {
    host.broadcast(all, {call.recv, call.count * call.element_size, 0});
  });
}

// Through a packed copy: where each rank wants the parts to lie is its own affair, so the hosts cannot exchange them in
// place.
void Endpoint::run_on_hosts(const detail::OperationRecord& record, const detail::AllgathervCall& call) {
  const std::size_t first = hosts_.own * hosts_.step;
  const auto neighbours = call.counts.subspan(first, hosts_.neighbours().size());
  host_bytes_.assign(hosts_.list.size(), 0);
  host_displs_.assign(hosts_.list.size(), 0);
  for (std::size_t rank = 0; rank < size_; ++rank)
    host_bytes_[rank / hosts_.step] += call.counts[rank] * call.element_size;
  std::exclusive_scan(host_bytes_.begin(), host_bytes_.end(), host_displs_.begin(), std::size_t{0});
  const std::size_t total = host_displs_.back() + host_bytes_.back();
  if (packed_.size() < total) packed_.resize(total);

  std::byte* const own = packed_.data() + host_displs_[hosts_.own];
  packed_displs_.resize(neighbours.size());
  std::exclusive_scan(neighbours.begin(), neighbours.end(), packed_displs_.begin(), std::size_t{0});
  on_host(record, [&](shm::Endpoint& host, const auto& all) {
    host.allgatherv(all, {call.send, own, neighbours, packed_displs_, call.element_size});
  });
  if (hosts_.place == 0) {
    Stride leaders(*wire_, hosts_.step);
    const detail::AllgathervCall between{own, packed_.data(), host_bytes_, host_displs_, 1, true};
    algorithms::allgatherv(leaders, between, tuning_, scratch_);
  }
  on_host(record, [&](shm::Endpoint& host, const auto& all) { host.broadcast(all, {packed_.data(), total, 0}); });
  const std::byte* part = packed_.data();
  for (std::size_t rank = 0; rank < size_; ++rank) {
    const std::size_t bytes = call.counts[rank] * call.element_size;
    if (bytes > 0) std::memcpy(static_cast<std::byte*>(call.recv) + call.displs[rank] * call.element_size, part, bytes);
    part += bytes;
  }
}
#endif

}  // namespace cobre::comm::tcp
