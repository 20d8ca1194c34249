#include "lines.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace cobre::command {

void Stream::write_some() {
  // A pipe that polls writable takes PIPE_BUF bytes without blocking. Our streams are shared with whoever started us,
  // so they are not ours to make non-blocking.
  // Looked at again, because our other stream may be the same pipe and have filled it.
  pollfd entry{.fd = descriptor_, .events = POLLOUT, .revents = 0};
  if (poll(&entry, 1, 0) <= 0) return;
  const std::size_t part = std::min<std::size_t>(waiting_.size() - written_, PIPE_BUF);
  const ssize_t count = write(descriptor_, waiting_.data() + written_, part);
  if (count < 0) {
    if (errno == EINTR || errno == EAGAIN) return;
    closed_ = true;  // nobody reads any more, or the disk is full: nothing more can be told
    waiting_.clear();
    written_ = 0;
    return;
  }
  written_ += static_cast<std::size_t>(count);
  if (written_ == waiting_.size()) {
    waiting_.clear();
    written_ = 0;
  } else if (written_ > limit) {
    waiting_.erase(0, written_);
    written_ = 0;
  }
}

void LineCutter::emit(std::string_view line, Stream& stream) {
  if (!mark_.empty() && line.starts_with(mark_)) {
    marked_.emplace_back(line.substr(mark_.size()));
    return;
  }
  if (!tag_.empty()) stream.add(tag_);
  stream.add(line);
  stream.add("\n");
}

void LineCutter::feed(std::string_view text, Stream& stream) {
  if (raw_) return stream.add(text);
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) {
      half_ += text;
      break;
    }
    half_ += text.substr(0, end);
    emit(half_, stream);
    half_.clear();
    text.remove_prefix(end + 1);
  }
  if (half_.size() > longest) {
    emit(half_, stream);
    half_.clear();
  }
}

void LineCutter::finish(Stream& stream) {
  if (!half_.empty()) emit(half_, stream);
  half_.clear();
}

}  // namespace cobre::command
