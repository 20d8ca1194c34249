#include "frames.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace cobre::command {
namespace {

constexpr std::size_t header_bytes = 8;
constexpr std::uint32_t longest = 64U << 20;

std::uint32_t number_at(const char* bytes) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

void put(std::string& bytes, std::uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

std::string packed(FrameKind kind, std::string_view bytes) {
  std::string frame;
  put(frame, static_cast<std::uint32_t>(kind));
  put(frame, static_cast<std::uint32_t>(bytes.size()));
  return frame.append(bytes);
}

FrameReader::State FrameReader::read_some(int descriptor) {
  std::array<char, 16384> part{};
  const ssize_t count = read(descriptor, part.data(), part.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN ? State::Open : State::Closed;
  bytes_.append(part.data(), static_cast<std::size_t>(count));
  return count == 0 || broken_ ? State::Closed : State::Open;
}

std::optional<Frame> FrameReader::next() {
  if (broken_ || bytes_.size() < header_bytes) return std::nullopt;
  const std::uint32_t kind = number_at(bytes_.data());
  const std::uint32_t length = number_at(bytes_.data() + 4);
  if (kind < static_cast<std::uint32_t>(FrameKind::Plan) || kind > static_cast<std::uint32_t>(FrameKind::Port) ||
      length > longest) {
    broken_ = true;
    return std::nullopt;
  }
  if (bytes_.size() - header_bytes < length) return std::nullopt;
  Frame frame{static_cast<FrameKind>(kind), bytes_.substr(header_bytes, length)};
  bytes_.erase(0, header_bytes + length);
  return frame;
}

}  // namespace cobre::command
