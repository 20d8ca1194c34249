#include "witness.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "comm/core/inherited.hpp"
#include "comm/core/make_ledger_file.hpp"

namespace cobre::command {

GroupView::GroupView(std::size_t first_rank, std::size_t children, std::size_t job_ranks)
    : first_rank_(first_rank), job_ranks_(job_ranks), ledgers_(children) {
  for (Ledger& ledger : ledgers_) {
    ledger.file = comm::core::make_ledger_file();
    ledger.mapped = comm::core::map_ledger_file(ledger.file.get());
  }
#ifdef COBRE_COMM_HAS_SHM
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;  // then without it
  near_ = comm::core::Descriptor(ends[0]);
  far_ = comm::core::Descriptor(ends[1]);
#endif
}

std::optional<GroupView::Handed> GroupView::for_rank_0() const {
  if (!far_) return std::nullopt;
  return Handed{far_.get(), "COBRE_COMM_WITNESS=" + comm::core::inherited_text(far_.get())};
}

std::optional<GroupView::Handed> GroupView::ledger(std::size_t child) const {
  if (child >= ledgers_.size() || ledgers_[child].mapped == nullptr) return std::nullopt;
  const int file = ledgers_[child].file.get();
  return Handed{file, "COBRE_COMM_LEDGER=" + comm::core::inherited_text(file)};
}

void GroupView::take() {
#ifdef COBRE_COMM_HAS_SHM
  if (!near_) return;
  pollfd entry{.fd = near_.get(), .events = POLLIN, .revents = 0};
  if (poll(&entry, 1, 0) <= 0) return;
  // The newest group is the one that counts.
  if ((entry.revents & POLLIN) != 0) {
    if (auto view = comm::shm::Witness::receive(near_)) {
      seen_ = std::move(view);
      return;
    }
  }
  near_ = {};
#endif
}

bool GroupView::sees() const noexcept {
#ifdef COBRE_COMM_HAS_TCP
  const auto keeps_one = [](const Ledger& ledger) {
    return ledger.mapped != nullptr && comm::tcp::LedgerView(*ledger.mapped).sees();
  };
  if (std::ranges::any_of(ledgers_, keeps_one)) return true;
#endif
#ifdef COBRE_COMM_HAS_SHM
  return seen_.has_value();
#else
  return false;
#endif
}

comm::algorithms::Sighting GroupView::in_first_communicator([[maybe_unused]] std::size_t child) const {
#ifdef COBRE_COMM_HAS_SHM
  if (seen_ && child < seen_->ranks()) return seen_->sighting(child);
#endif
#ifdef COBRE_COMM_HAS_TCP
  if (child < ledgers_.size() && ledgers_[child].mapped != nullptr) {
    return comm::tcp::LedgerView(*ledgers_[child].mapped).sighting();
  }
#endif
  return {};
}

std::string GroupView::whereabouts(std::size_t child) const {
  const auto first = in_first_communicator(child);
  if (child >= ledgers_.size() || ledgers_[child].mapped == nullptr) return first.words;
  return comm::algorithms::whereabouts(first, *ledgers_[child].mapped);
}

#ifdef COBRE_COMM_HAS_TCP
std::optional<std::size_t> GroupView::blamed_by(std::size_t child) const {
  if (child >= ledgers_.size() || ledgers_[child].mapped == nullptr) return std::nullopt;
  return comm::tcp::LedgerView(*ledgers_[child].mapped).blamed(job_ranks_);
}
#endif

std::optional<std::size_t> GroupView::first_to_fail() const {
#ifdef COBRE_COMM_HAS_TCP
  // Whoever gave up says because of whom; of that one it may be true as well.
  for (std::size_t child = 0; child < ledgers_.size(); ++child) {
    std::optional<std::size_t> first = blamed_by(child);
    if (!first) continue;
    for (std::size_t hops = 0; hops < ledgers_.size(); ++hops) {
      const auto next = blamed_by(*first - first_rank_);
      if (!next || *next == *first) break;
      first = next;
    }
    return first;
  }
#endif
#ifdef COBRE_COMM_HAS_SHM
  // A group may have been made by programs that count more ranks than were started.
  if (const auto first = seen_ ? seen_->first_to_fail() : std::nullopt; first && *first < job_ranks_) return first;
#endif
  return std::nullopt;
}

}  // namespace cobre::command
