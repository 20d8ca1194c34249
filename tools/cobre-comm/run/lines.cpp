#include "lines.hpp"

#include <poll.h>
#include <sys/stat.h>
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
  // Whole lines while they fit, for our other stream may be the same pipe, and lines of its own stand between the
  // parts.
  std::string_view part = std::string_view(waiting_).substr(written_);
  if (part.size() > PIPE_BUF) {
    part = part.substr(0, PIPE_BUF);
    part = part.substr(0, part.rfind('\n') + 1);  // nothing where there is no end of a line
    if (part.empty()) part = std::string_view(waiting_).substr(written_, PIPE_BUF);
  }
  const ssize_t count = write(descriptor_, part.data(), part.size());
  if (count < 0) {
    if (errno == EINTR || errno == EAGAIN) return;
    closed_ = true;  // nobody reads any more, or the disk is full: nothing more can be told
    waiting_.clear();
    written_ = 0;
    return;
  }
  if (count > 0) line_is_over_ = part[static_cast<std::size_t>(count) - 1] == '\n';
  written_ += static_cast<std::size_t>(count);
  if (written_ == waiting_.size()) {
    waiting_.clear();
    written_ = 0;
  } else if (written_ > limit) {
    waiting_.erase(0, written_);
    written_ = 0;
  }
}

bool same_file(const Stream& one, const Stream& other) noexcept {
  struct stat a {};
  struct stat b {};
  if (fstat(one.descriptor(), &a) != 0 || fstat(other.descriptor(), &b) != 0) return false;
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
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
