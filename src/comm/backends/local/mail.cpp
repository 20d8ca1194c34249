// Messages of the only rank to itself.

#include <cobre/comm/local.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "comm/algorithms/self_mail.hpp"

namespace cobre::comm {
namespace detail {

std::atomic<std::size_t> local_mailboxes{0};

namespace {

class Table {
 public:
  std::shared_ptr<Mailbox> share(const LocalMail& owner) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = mailboxes_.try_emplace(&owner);
    if (is_new) {
      try {
        place->second = std::make_shared<algorithms::SelfMail>(0, 1, algorithms::NoPipes());
      } catch (...) {
        mailboxes_.erase(place);
        throw;
      }
      local_mailboxes.fetch_add(1, std::memory_order_relaxed);
    }
    return place->second;
  }

  /// A channel may hold it on. Whoever drops the last share does so without the lock: it may have to warn.
  std::shared_ptr<Mailbox> take(const LocalMail& owner) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = mailboxes_.extract(&owner);
    return found.empty() ? nullptr : forget(found.mapped());
  }

  /// What `to` had before is returned, for the same reason.
  std::shared_ptr<Mailbox> move(const LocalMail& from, const LocalMail& to) noexcept {
    const std::lock_guard lock(mutex_);
    auto previous = mailboxes_.extract(&to);
    if (auto moved = mailboxes_.extract(&from)) {
      moved.key() = &to;
      mailboxes_.insert(std::move(moved));
      count_change();
    }
    return previous.empty() ? nullptr : forget(previous.mapped());
  }

  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<Mailbox> forget(std::shared_ptr<Mailbox>& mailbox) noexcept {
    local_mailboxes.fetch_sub(1, std::memory_order_relaxed);
    count_change();
    return std::move(mailbox);
  }
  // Relaxed: a place is used again by who knows that the one before is gone, and with it of this change.
  void count_change() noexcept { changes_.fetch_add(1, std::memory_order_relaxed); }

  std::mutex mutex_;
  std::map<const LocalMail*, std::shared_ptr<Mailbox>> mailboxes_;
  std::atomic<std::uint64_t> changes_{1};  // of who stands where
};

// Communicators may be static objects: it is there when the last of them goes.
Table& table() {
  static Table* const kept = new Table;
  return *kept;
}

}  // namespace

// Not by way of the table, and its lock, where it is the one that this thread asked for last.
Mailbox& LocalMail::own_mailbox() const {
  struct Found {
    const LocalMail* owner = nullptr;
    std::uint64_t changes = 0;
    Mailbox* mailbox = nullptr;
  };
  constinit thread_local Found last;
  const std::uint64_t changes = table().changes();
  if (last.owner != this || last.changes != changes) last = {this, changes, table().share(*this).get()};
  return *last.mailbox;
}

std::shared_ptr<Mailbox> LocalMail::share_own_mailbox() const {
  return table().share(*this);
}

void LocalMail::take_over(LocalMail& other) noexcept {
  if (this != &other) (void)table().move(other, *this);
}

void LocalMail::let_go() noexcept {
  (void)table().take(*this);
}

}  // namespace detail

detail::Mailbox& LocalBackend::mailbox(const char*) const {
  return own_mailbox();
}

std::shared_ptr<detail::Mailbox> LocalBackend::share_mailbox(const char*) const {
  return share_own_mailbox();
}

}  // namespace cobre::comm
