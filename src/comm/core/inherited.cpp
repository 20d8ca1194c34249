#include "comm/core/inherited.hpp"

#include <sys/stat.h>

#include <array>
#include <charconv>
#include <cstdint>

#include "comm/core/format.hpp"

namespace cobre::comm::core {

std::string inherited_text(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return "";
  return core::format("{}:{}:{}", descriptor, status.st_dev, status.st_ino);
}

int inherited_descriptor(const std::string& text) noexcept {
  std::array<std::uint64_t, 3> numbers{};
  const char* next = text.data();
  const char* const end = next + text.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) {
      if (next == end || *next != ':') return -1;
      ++next;
    }
    const auto number = std::from_chars(next, end, numbers[i]);
    if (number.ec != std::errc{}) return -1;
    next = number.ptr;
  }
  const auto descriptor = static_cast<int>(numbers[0]);
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || status.st_dev != numbers[1] || status.st_ino != numbers[2]) return -1;
  return descriptor;
}

}  // namespace cobre::comm::core
