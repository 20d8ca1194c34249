// The examples check what they compute. A wrong result is an exception, and an exception ends the job on all ranks.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

inline void expect(bool is_right, const std::string& what,
                   const std::source_location& where = std::source_location::current()) {
  if (is_right) return;
  throw std::logic_error(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": wrong: " + what);
}
