#include "input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace cobre::command {
namespace {

// A job in the background must not touch the terminal: reading it would stop us.
bool may_read() {
  return isatty(STDIN_FILENO) == 0 || tcgetpgrp(STDIN_FILENO) == getpgrp();
}

}  // namespace

Input::Input(Way way) : way_(way), nothing_(open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  if (!nothing_) throw std::system_error(errno, std::generic_category(), "/dev/null");
  if (way == Way::Relayed || (way == Way::HandedOver && isatty(STDIN_FILENO) == 0)) return;
  if (way == Way::HandedOver && !may_read()) {
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
  const bool ours = way_ == Way::Relayed || (way_ == Way::HandedOver && near_);
  return ours && !ended_ && waiting_.empty() && may_read() ? STDIN_FILENO : -1;
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
    end();
  }
}

void Input::write_some() {
  const ssize_t count = write(near_.get(), waiting_.data(), waiting_.size());
  if (count > 0) {
    waiting_.erase(0, static_cast<std::size_t>(count));
  } else if (errno != EINTR && errno != EAGAIN) {
    near_ = {};  // the rank does not read any more
  }
  if (ended_ && waiting_.empty()) near_ = {};
}

void Input::feed(std::string_view bytes) {
  if (near_) waiting_ += bytes;
}

void Input::end() {
  ended_ = true;
  if (waiting_.empty()) near_ = {};  // end of file, for the rank as well
}

}  // namespace cobre::command
