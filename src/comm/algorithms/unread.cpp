#include "comm/algorithms/unread.hpp"

#include "comm/core/format.hpp"
#include "comm/core/warnings.hpp"

namespace cobre::comm::algorithms {

std::string UnreadMessages::describe() const {
  constexpr std::size_t most = 4;
  std::string text;
  std::size_t shown = 0;
  for (const auto& [key, queue] : queues_) {
    if (shown++ == most) return text + core::format(", and on {} more channels", queues_.size() - most);
    std::size_t bytes = 0;
    for (const Unread& message : queue) bytes += message.bytes;
    text += core::format("{}{} message{} from rank {} with tag {} ({} bytes)", shown == 1 ? "" : ", ", queue.size(),
                         queue.size() == 1 ? "" : "s", key.peer, key.tag, bytes);
  }
  return text;
}

void warn_of_unread(const detail::Mailbox& mailbox, const UnreadMessages& unread) noexcept {
  if (unread.empty()) return;
  try {
    core::warn(core::format("rank {} of {} ends without having received {}; receive every message that is sent",
                            mailbox.rank(), mailbox.size(), unread.describe()));
  } catch (const std::exception&) {
    core::warn("a rank ends without having received all its messages");  // no memory for the details
  }
}

}  // namespace cobre::comm::algorithms
