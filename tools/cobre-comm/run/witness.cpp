#include "witness.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>

namespace cobre::command {

#ifdef COBRE_COMM_HAS_SHM

GroupView::GroupView() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;  // then without it
  near_ = comm::core::Descriptor(ends[0]);
  far_ = comm::core::Descriptor(ends[1]);
}

std::string GroupView::variable() const {
  return "COBRE_COMM_WITNESS=" + comm::shm::witness_text(far_.get());
}

void GroupView::take() {
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
}

bool GroupView::sees() const noexcept {
  return seen_.has_value();
}

std::string GroupView::whereabouts(std::size_t rank) const {
  return seen_ && rank < seen_->ranks() ? seen_->whereabouts(rank) : "";
}

std::optional<std::size_t> GroupView::first_to_fail() const {
  return seen_ ? seen_->first_to_fail() : std::nullopt;
}

#else

GroupView::GroupView() = default;
std::string GroupView::variable() const {
  return "COBRE_COMM_WITNESS=";
}
void GroupView::take() {}
bool GroupView::sees() const noexcept {
  return false;
}
std::string GroupView::whereabouts(std::size_t) const {
  return "";
}
std::optional<std::size_t> GroupView::first_to_fail() const {
  return std::nullopt;
}

#endif

}  // namespace cobre::command
