#include "outbox.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace cobre::command {

Outbox::Outbox(std::string_view first) : waiting_(first) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  far_ = comm::core::Descriptor(ends[0]);
  near_ = comm::core::Descriptor(ends[1]);
  (void)fcntl(near_.get(), F_SETFL, O_NONBLOCK);
}

void Outbox::write_some() {
  if (waiting_.empty()) return;
  const ssize_t count = write(near_.get(), waiting_.data(), waiting_.size());
  if (count >= 0) {
    waiting_.erase(0, static_cast<std::size_t>(count));
  } else if (errno != EINTR && errno != EAGAIN) {
    near_ = {};  // the child is gone
    waiting_.clear();
  }
}

}  // namespace cobre::command
