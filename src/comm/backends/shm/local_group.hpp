// What split_local() returns: a channel of its own over a small region, so that it may be used beside the communicator.
#pragma once

#include <cobre/comm/local_communicator.hpp>
#include <cobre/comm/shm.hpp>

#include <memory>

#include "comm/backends/shm/channel.hpp"
#include "comm/backends/shm/endpoint.hpp"

namespace cobre::comm::shm {

class LocalGroup final : public LocalCommunicator {
 public:
  explicit LocalGroup(const std::shared_ptr<Endpoint>& endpoint)
      : endpoint_(endpoint),
        memory_(endpoint, ChannelBlock::bytes(endpoint->size()), 1, {}),
        channel_(*static_cast<ChannelBlock*>(memory_.writable()), endpoint->rank(), endpoint->size(), endpoint->peers(),
                 endpoint->settings_alone()) {
    channel_.be_noted({algorithms::PartTable::of_this_process(), algorithms::MadeBy::SplitLocal, channel_.rank(),
                       channel_.size(), endpoint->first_left()});
    channel_.on_failure([this](std::size_t rank) { endpoint_->miss(rank); });
  }
  ~LocalGroup() override {
    if (!endpoint_->in_child()) channel_.depart();
  }

  [[nodiscard]] std::size_t rank() const noexcept override { return channel_.rank(); }
  [[nodiscard]] std::size_t size() const noexcept override { return channel_.size(); }

  void barrier() const override {
    const detail::OperationRecord record{.operation = detail::Operation::Barrier};
    if (endpoint_->in_child()) core::throw_in_child({"barrier", rank(), size()});
    channel_.enter(record);
    try {
      channel_.publish(channel_.open_post());
      channel_.await_posts();
    } catch (...) {
      channel_.leave_by_exception();
      throw;
    }
    channel_.leave();
  }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  RegionBlock memory_;
  mutable Channel channel_;
};

}  // namespace cobre::comm::shm
