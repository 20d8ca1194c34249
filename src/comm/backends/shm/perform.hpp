// The frame around every operation of an endpoint.
#pragma once

#include "comm/algorithms/reduction.hpp"
#include "comm/backends/shm/endpoint.hpp"
#include "comm/core/crash_point.hpp"
#include "comm/core/exclusive.hpp"

namespace cobre::comm::shm {

template <class Body>
void Endpoint::perform(const detail::OperationRecord& record, Body&& body) {
  // Put together only where it is needed: the length of the name would be counted at every call.
  const auto where = [&] { return channel_.where(detail::to_string(record.operation)); };
  if (guard_.in_child()) [[unlikely]]
    core::throw_in_child(where());
  backlog_.clear();
  const core::Exclusive exclusive(busy_, where());
  channel_.enter(record);
  try {
    core::crash_point<"shm.entered">();
    body();
    core::crash_point<"shm.about_to_leave">();
  } catch (...) {
    channel_.finish("an operation failed on this rank");
    channel_.leave_by_exception();
    throw;
  }
  channel_.leave();
  core::crash_point<"shm.left">();
}

template <class Body>
void Endpoint::perform_reduction(const detail::OperationRecord& record, Body&& body) {
  perform(record, [&] {
    try {
      body();
    } catch (const algorithms::ReductionThrew&) {  // NOLINT(bugprone-empty-catch)
      // The exception itself waits in the call and is rethrown above.
    }
  });
}

inline void Endpoint::fold(const detail::AllreduceCall& call, void* into, std::size_t count, std::size_t ranks) {
  if (count > 0) call.fold().apply(into, sources_.data(), ranks, count);
  if (call.thrown != nullptr && *call.thrown != nullptr) [[unlikely]] {
    channel_.finish_because_reduction_threw();
    throw algorithms::ReductionThrew{};
  }
}

template <class Payload>
std::vector<Payload> Endpoint::exchange(const detail::OperationRecord& record, const Payload& payload) {
  std::vector<Payload> all(size_);
  perform(record, [&] {
    post(payload);
    channel_.await_posts();
    for (std::size_t rank = 0; rank < size_; ++rank) all[rank] = payload_of<Payload>(rank);
  });
  return all;
}

}  // namespace cobre::comm::shm
