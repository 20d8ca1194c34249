// The communicators of one rank that were split from one group. Each knows of a failure only what it was told itself; a
// rank that gives up because of what it was told in one of them is missed in all the others, and says there whom it
// missed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace cobre::comm::core {

class Kin {
 public:
  /// `ranks[i]`: what rank i of that communicator is called in the group from which all were split. `blame` is told of
  /// a failure by the number that the rank has in that communicator; it neither throws nor waits.
  void join(const void* communicator, std::vector<std::size_t> ranks, std::function<void(std::size_t)> blame) {
    const std::lock_guard lock(mutex_);
    members_.push_back({communicator, std::move(ranks), std::move(blame)});
  }
  void leave(const void* communicator) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase_if(members_, [&](const Member& member) { return member.communicator == communicator; });
  }
  /// One of them was told that this rank, by its name in that group, failed.
  void blame(std::size_t rank) noexcept {
    const std::lock_guard lock(mutex_);
    for (const Member& member : members_) {
      const auto place = std::ranges::find(member.ranks, rank);
      if (place != member.ranks.end()) member.blame(static_cast<std::size_t>(place - member.ranks.begin()));
    }
  }

 private:
  struct Member {
    const void* communicator;
    std::vector<std::size_t> ranks;
    std::function<void(std::size_t)> blame;
  };
  std::mutex mutex_;
  std::vector<Member> members_;
};

}  // namespace cobre::comm::core
