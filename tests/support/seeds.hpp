// What a fuzzer starts from: inputs that are made here and recorded in the tree. One of yesterday's layout is cut off
// at the first check, and the fuzzer never comes to what is behind it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

struct Seed {
  std::string name;
  std::string bytes;
};

/// The first byte says who reads it.
template <class Reader, class... Frames>
Seed seed(std::string name, Reader reader, const Frames&... frames) {
  std::string bytes(1, static_cast<char>(reader));
  [[maybe_unused]] const auto add = [&](std::span<const std::byte> more) {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
  };
  (add(frames), ...);
  return {std::move(name), std::move(bytes)};
}

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Writes those that are not in the corpus as they are made into a folder, and says how to record them.
inline void expect_recorded(const std::vector<Seed>& seeds, const std::filesystem::path& corpus,
                            std::string_view folder) {
  const std::filesystem::path right = std::filesystem::absolute(folder);
  for (const Seed& one : seeds) {
    if (content_of(corpus / one.name) == one.bytes) continue;
    std::filesystem::create_directories(right);
    std::ofstream(right / one.name, std::ios::binary) << one.bytes;
    ADD_FAILURE() << "the layout has changed; record it: cp " << (right / one.name).string() << " " << corpus.string();
  }
}

}  // namespace test
