// A machine's control groups as files in a folder, which goes with the object.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

class FakeControlGroups {
 public:
  FakeControlGroups() = default;
  FakeControlGroups(const FakeControlGroups&) = delete;
  FakeControlGroups& operator=(const FakeControlGroups&) = delete;
  ~FakeControlGroups() { remove(); }

  [[nodiscard]] std::filesystem::path proc() const { return root_ / "proc"; }
  [[nodiscard]] std::filesystem::path cgroup() const { return root_ / "cgroup"; }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void remove() const { std::filesystem::remove_all(root_); }

 private:
  std::filesystem::path root_ = std::filesystem::temp_directory_path() / ("cobre-groups-" + std::to_string(::getpid()));
};
