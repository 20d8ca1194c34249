#include "input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace cobre::command {
namespace {

// A job in the background must not touch the terminal: reading it would stop us.
bool may_read_terminal() {
  return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

}  // namespace

Input::Input() : nothing_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  if (!nothing_) throw std::system_error(errno, std::generic_category(), "/dev/null");
  if (isatty(STDIN_FILENO) == 0) return;
  if (!may_read_terminal()) {
    own_ = nothing_.get();
    return;
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  far_ = comm::core::Descriptor(ends[0]);
  near_ = comm::core::Descriptor(ends[1]);
  (void)fcntl(near_.get(), F_SETFL, O_NONBLOCK);
}

int Input::wants_read() const noexcept {
  return near_ && !ended_ && waiting_.empty() && may_read_terminal() ? STDIN_FILENO : -1;
}

int Input::wants_write() const noexcept {
  return near_ && !waiting_.empty() ? near_.get() : -1;
}

void Input::read_some() {
  std::array<char, 4096> part{};
  const ssize_t count = read(STDIN_FILENO, part.data(), part.size());
  if (count > 0) {
    waiting_.append(part.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
    ended_ = true;
    near_ = {};  // end of file, for the rank as well
  }
}

void Input::write_some() {
  const ssize_t count = write(near_.get(), waiting_.data(), waiting_.size());
  if (count > 0) {
    waiting_.erase(0, static_cast<std::size_t>(count));
  } else if (errno != EINTR && errno != EAGAIN) {
    near_ = {};  // the rank does not read any more
  }
}

}  // namespace cobre::command
