// The communicators of one rank that were split from one group. Each knows of a failure only what it was told itself; a
// rank that gives up because of what it was told in one of them is missed in all the others, and says there whom it
// missed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/backends/shm/channel.hpp"

namespace cobre::comm::shm {

class Kin {
 public:
  /// `ranks[i]`: what rank i of that communicator is called in the group from which all were split.
  void join(Channel& channel, std::vector<std::size_t> ranks) {
    const std::lock_guard lock(mutex_);
    members_.push_back({&channel, std::move(ranks)});
  }
  void leave(const Channel& channel) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(members_, [&](const Member& member) { return member.channel == &channel; });
  }
  /// One of them was told that this rank, by its name in that group, failed.
  void blame(std::size_t rank) noexcept {
    const std::lock_guard lock(mutex_);
    for (const Member& member : members_) {
      const auto place = std::ranges::find(member.ranks, rank);
      if (place != member.ranks.end()) member.channel->blame(static_cast<std::size_t>(place - member.ranks.begin()));
    }
  }

 private:
  struct Member {
    Channel* channel;
    std::vector<std::size_t> ranks;
  };
  std::mutex mutex_;
  std::vector<Member> members_;
};

}  // namespace cobre::comm::shm
