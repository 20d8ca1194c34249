// Transfers in the order in which they were started, linked through themselves: queueing allocates nothing.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>

namespace cobre::comm::algorithms {

class TransferQueue {
 public:
  using Transfer = detail::Transfer;

  [[nodiscard]] Transfer* first() const noexcept { return first_; }

  void append(Transfer& transfer) noexcept {
    transfer.next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = &transfer;
    last_ = &transfer;
  }

  /// The first one of which `matches` is true; null where there is none.
  template <class Matches>
  [[nodiscard]] Transfer* find(Matches&& matches) const {
    Transfer* candidate = first_;
    while (candidate != nullptr && !matches(*candidate)) candidate = candidate->next;
    return candidate;
  }

  /// Does nothing where it is not here.
  void remove(const Transfer& transfer) noexcept {
    Transfer* before = nullptr;
    for (Transfer* one = first_; one != nullptr; before = one, one = one->next) {
      if (one != &transfer) continue;
      (before == nullptr ? first_ : before->next) = one->next;
      if (last_ == one) last_ = before;
      return;
    }
  }

 private:
  Transfer* first_ = nullptr;
  Transfer* last_ = nullptr;
};

}  // namespace cobre::comm::algorithms
