// The operations of several hosts: the ranks of a host work in its memory, and the first of them speaks for it on the
// network. A reduction does so only where hosts form whole branches of the canonical tree; then it gives what the ranks
// one by one would give, to the bit.

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

#include "comm/backends/tcp/on_host.hpp"
#include "comm/backends/tcp/perform.hpp"
#include "comm/backends/tcp/transport.hpp"

namespace cobre::comm::tcp {

#ifdef COBRE_COMM_HAS_SHM
namespace {

template <class Visit>
void for_each_by_host(const Hosts& hosts, Visit&& visit) {
  for (const HostInfo& host : hosts.list) {
    for (const std::size_t rank : host.ranks) visit(rank);
  }
}

/// Where the parts begin if they lie one behind the other, host by host; else null.
std::byte* start_of_packed(const detail::AllgathervCall& call, const Hosts& hosts) noexcept {
  std::byte* start = nullptr;
  std::byte* next = nullptr;
  bool packed = true;
  for_each_by_host(hosts, [&](std::size_t rank) {
    if (call.counts[rank] == 0) return;  // wherever that is
    std::byte* const place = call.place_of(rank);
    if (start == nullptr) start = next = place;
    packed = packed && place == next;
    next += call.bytes_of(rank);
  });
  return packed ? start : nullptr;
}

}  // namespace

void Endpoint::run_on_hosts(const detail::OperationRecord& record, const detail::BarrierCall&) {
  on_host(record, [](shm::Endpoint& host, const auto& all) { host.barrier(all); });
  if (hosts_.place == 0) {
    Leaders leaders(*wire_, hosts_);
    algorithms::barrier(leaders);
  }
  on_host(record, [](shm::Endpoint& host, const auto& all) { host.barrier(all); });
}

void Endpoint::run_on_hosts(const detail::OperationRecord& record, const detail::BroadcastCall& call) {
  const std::size_t root_host = hosts_.host_of[call.root];
  const bool at_root = hosts_.own == root_host;
  const auto on_this_host = [&] {
    const detail::BroadcastCall local{call.buffer, call.bytes, at_root ? hosts_.place_of(call.root) : 0};
    on_host(record, [&](shm::Endpoint& host, const auto& all) { host.broadcast(all, local); });
  };
  if (at_root) on_this_host();
  if (hosts_.place == 0) {
    Leaders leaders(*wire_, hosts_);
    algorithms::broadcast(leaders, {call.buffer, call.bytes, root_host}, tuning_);
  }
  if (!at_root) on_this_host();
}

void Endpoint::run_on_hosts(const detail::OperationRecord& record, const detail::AllreduceCall& call) {
  on_host(record, [&](shm::Endpoint& host, const auto& all) { host.allreduce(all, call); });
  if (call.thrown != nullptr && *call.thrown != nullptr) throw algorithms::ReductionThrew{};
  if (hosts_.place == 0) {
    Leaders leaders(*wire_, hosts_);
    detail::AllreduceCall between = call;
    between.send = call.recv;
    algorithms::allreduce(leaders, between, tuning_, scratch_);
  }
  on_host(record, [&](shm::Endpoint& host, const auto& all) {
    host.broadcast(all, {call.recv, call.count * call.element_size, 0});
  });
}

std::byte* Endpoint::room_to_pack(std::size_t bytes) {
  try {
    return packed_.memory(bytes);
  } catch (const std::bad_alloc&) {
    throw AllocationFailed(
        {"allgatherv", rank_, size_}, bytes,
        "parts that do not lie one behind the other, host by host, are copied on their way; let them "
        "lie so, and they need no room beside recv");
  }
}

// Hosts exchange the parts of all ranks host by host, one behind the other. Where each rank wants them to lie is its
// own affair: who wants them just so, as most do, gets them there, and who does not through a copy.
void Endpoint::run_on_hosts(const detail::OperationRecord& record, const detail::AllgathervCall& call) {
  const auto& neighbours = hosts_.neighbours();
  parts_.host_bytes.assign(hosts_.list.size(), 0);
  parts_.host_displs.resize(hosts_.list.size());
  for (std::size_t rank = 0; rank < size_; ++rank) parts_.host_bytes[hosts_.host_of[rank]] += call.bytes_of(rank);
  std::exclusive_scan(parts_.host_bytes.begin(), parts_.host_bytes.end(), parts_.host_displs.begin(), std::size_t{0});
  const std::size_t total = parts_.host_displs.back() + parts_.host_bytes.back();
  parts_.counts.resize(neighbours.size());
  parts_.displs.resize(neighbours.size());
  std::ranges::transform(neighbours, parts_.counts.begin(), [&](std::size_t rank) { return call.counts[rank]; });
  std::exclusive_scan(parts_.counts.begin(), parts_.counts.end(), parts_.displs.begin(), std::size_t{0});

  std::byte* const in_recv = start_of_packed(call, hosts_);
  std::byte* const packed = in_recv != nullptr ? in_recv : room_to_pack(total);
  std::byte* const own = packed + parts_.host_displs[hosts_.own];
  const bool in_place = call.in_place && in_recv != nullptr;
  on_host(record, [&](shm::Endpoint& host, const auto& all) {
    host.allgatherv(all, {call.send, own, parts_.counts, parts_.displs, call.element_size, in_place});
  });
  if (hosts_.place == 0) {
    Leaders leaders(*wire_, hosts_);
    const detail::AllgathervCall between{own, packed, parts_.host_bytes, parts_.host_displs, 1, true};
    algorithms::allgatherv(leaders, between, tuning_, scratch_);
  }
  on_host(record, [&](shm::Endpoint& host, const auto& all) { host.broadcast(all, {packed, total, 0}); });
  if (in_recv != nullptr) return;
  const std::byte* part = packed;
  for_each_by_host(hosts_, [&](std::size_t rank) {
    const std::size_t bytes = call.bytes_of(rank);
    if (bytes > 0) std::memcpy(call.place_of(rank), part, bytes);
    part += bytes;
  });
}
#endif

}  // namespace cobre::comm::tcp
