#include "comm/backends/mpi/family.hpp"

#include <utility>

#include "comm/backends/mpi/checker.hpp"

namespace cobre::comm::mpi {

void Family::add(std::weak_ptr<CollectiveChecker> checker, Purpose purpose) {
  const std::lock_guard lock(mutex_);
  std::erase_if(members_, [](const Member& member) { return member.checker.expired(); });
  members_.push_back({std::move(checker), purpose});
}

void Family::look_for(const CollectiveChecker& asker, Records& records) {
  const std::lock_guard lock(mutex_);
  for (const Member& member : members_) {
    const auto checker = member.checker.lock();
    if (checker == nullptr || checker.get() == &asker) continue;
    for (std::size_t rank = 0; rank < records.size(); ++rank) {
      if (!records[rank]) records[rank] = checker->take_announcement(rank, member.purpose);
    }
  }
}

void Family::break_off(const Where& where, const Records& records) {
  const std::lock_guard lock(mutex_);
  if (!crossed_) crossed_ = core::judge(records);
  core::throw_mismatch(where, *crossed_);
}

void Family::require_whole(const Where& where) const {
  const std::lock_guard lock(mutex_);
  if (crossed_) core::throw_mismatch(where, *crossed_);
}

}  // namespace cobre::comm::mpi
