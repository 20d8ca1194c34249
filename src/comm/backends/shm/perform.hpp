// The frame around every operation of an endpoint.
#pragma once

#include "comm/backends/shm/endpoint.hpp"

namespace cobre::comm::shm {

/// One operation at a time: two threads in one communicator would count its operations differently.
class Exclusive {
 public:
  Exclusive([[maybe_unused]] std::atomic<bool>& busy, [[maybe_unused]] detail::Operation operation,
            [[maybe_unused]] std::size_t rank, [[maybe_unused]] std::size_t size)
      : busy_(busy) {
#ifndef NDEBUG
    if (busy.exchange(true, std::memory_order_acquire)) {
      throw InvalidOperation({detail::to_string(operation), rank, size},
                             "another thread is inside an operation of this communicator; give each thread its "
                             "own communicator, or take turns");
    }
#endif
  }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;
  ~Exclusive() {
#ifndef NDEBUG
    busy_.store(false, std::memory_order_release);
#endif
  }

 private:
  [[maybe_unused]] std::atomic<bool>& busy_;
};

template <class Body>
void Endpoint::perform(const detail::OperationRecord& record, Body&& body) {
  if (guard_.in_child()) [[unlikely]] {
    throw InvalidCommunicator({detail::to_string(record.operation), rank_, size_},
                              "this process was forked from the one that is this rank; only that one may use it");
  }
  const Exclusive exclusive(busy_, record.operation, rank_, size_);
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
