// Messages that came before anybody wanted them, by channel and in order.
#pragma once

#include <cobre/comm/detail/mailbox.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace cobre::comm::algorithms {

struct Unread {
  std::unique_ptr<std::byte[]> data;
  std::size_t bytes = 0;
  bool complete = false;
  std::uint64_t number = 0;  // later ones of its channel have larger ones
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
    return put(envelope, [&](Queue& queue) -> Unread& { return queue.emplace_back(std::move(message)); });
  }
  /// One that was taken already: where it stood, before all that came later.
  void add_first(const detail::Envelope& envelope, Unread message) {
    put(envelope, [&](Queue& queue) -> Unread& {
      queue.push_front(std::move(message));
      // Older ones that were given back too move past it; what is still coming is the last, and keeps its place.
      auto one = queue.begin();
      for (; one + 1 != queue.end() && (one + 1)->number < one->number; ++one) std::swap(*one, *(one + 1));
      return *one;
    });
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

  /// No queue stays empty, not even where there is no memory for what was to be put in.
  template <class Put>
  Unread& put(const detail::Envelope& envelope, const Put& put_in) {
    const auto queue = queues_.try_emplace(key(envelope)).first;
    try {
      return put_in(queue->second);
    } catch (const std::bad_alloc&) {
      if (queue->second.empty()) queues_.erase(queue);
      throw;
    }
  }

  std::map<Key, Queue> queues_;
};

/// Where messages are left over when a communicator ends: nobody will ever read them, and somebody should know.
void warn_of_unread(const detail::Mailbox& mailbox, const UnreadMessages& unread) noexcept;

}  // namespace cobre::comm::algorithms
