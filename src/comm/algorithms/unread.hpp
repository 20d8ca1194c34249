// Messages that came before anybody wanted them, by channel and in order.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace cobre::comm::algorithms {

struct Unread {
  std::unique_ptr<std::byte[]> data;
  std::size_t bytes = 0;
  bool complete = false;
};

class UnreadMessages {
 public:
  using Queue = std::deque<Unread>;  // a message stays in its place while others come and go at the ends

  /// The messages of one channel; null where there are none.
  [[nodiscard]] Queue* find(const detail::Envelope& envelope) {
    if (queues_.empty()) return nullptr;
    const auto found = queues_.find(key(envelope));
    return found == queues_.end() ? nullptr : &found->second;
  }
  Unread& add(const detail::Envelope& envelope, Unread message) {
    return queues_[key(envelope)].emplace_back(std::move(message));
  }
  void add_first(const detail::Envelope& envelope, Unread message) {
    queues_[key(envelope)].push_front(std::move(message));
  }
  void remove_first(const detail::Envelope& envelope) {
    const auto found = queues_.find(key(envelope));
    found->second.pop_front();
    if (found->second.empty()) queues_.erase(found);
  }

  [[nodiscard]] bool empty() const noexcept { return queues_.empty(); }
  /// "2 messages from rank 3 with tag 7 (16 bytes)", for the first few channels.
  [[nodiscard]] std::string describe() const;

 private:
  struct Key {
    std::size_t peer;
    std::int64_t tag;
    detail::Realm realm;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static Key key(const detail::Envelope& envelope) noexcept { return {envelope.peer, envelope.tag, envelope.realm}; }

  std::map<Key, Queue> queues_;
};

/// Where messages are left over when a communicator ends: nobody will ever read them, and somebody should know.
void warn_of_unread(const detail::Mailbox& mailbox, const UnreadMessages& unread) noexcept;

}  // namespace cobre::comm::algorithms
