// The shared libraries that a program names as its own.
#pragma once

#include <string>
#include <vector>

namespace cobre::command {

/// As the loader reads them: "libmpi.so.40". None for what is no ELF file of this machine's kind, a script for example.
[[nodiscard]] std::vector<std::string> needed_libraries(const std::string& program);

}  // namespace cobre::command
