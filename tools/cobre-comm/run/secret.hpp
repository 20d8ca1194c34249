// The job's secret, out of sight: in no command line, no environment and no file system.
#pragma once

#include <string>

#include "comm/core/descriptor.hpp"

namespace cobre::command {

/// 32 random bytes in hexadecimal digits.
[[nodiscard]] std::string make_secret();

/// A file without a name that ranks inherit.
class SecretFile {
 public:
  /// None for an empty secret.
  explicit SecretFile(const std::string& secret);

  explicit operator bool() const noexcept { return static_cast<bool>(file_); }
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  /// "NAME=value" for the environment of a rank that has inherited it.
  [[nodiscard]] std::string variable() const;

 private:
  comm::core::Descriptor file_;
};

}  // namespace cobre::command
