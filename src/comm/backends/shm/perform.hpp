// The frame around every operation of an endpoint.
#pragma once

#include "comm/backends/shm/endpoint.hpp"
#include "comm/core/exclusive.hpp"

namespace cobre::comm::shm {

template <class Body>
void Endpoint::perform(const detail::OperationRecord& record, Body&& body) {
  const Where where{detail::to_string(record.operation), rank_, size_};
  if (guard_.in_child()) [[unlikely]] {
    throw InvalidCommunicator(where,
                              "this process was forked from the one that is this rank; only that one may use it");
  }
  const core::Exclusive exclusive(busy_, where);
  channel_.enter(record);
  try {
    body();
  } catch (...) {
    channel_.finish("an operation failed on this rank");
    throw;
  }
  channel_.leave();
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
