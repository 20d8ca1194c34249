#include "program.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "comm/core/format.hpp"
#include "comm/core/text.hpp"
#include "options.hpp"

namespace cobre::command {
namespace {

bool is_file(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_executable(const std::string& path) {
  return is_file(path) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> find_in_path(const std::string& word) {
  if (word.find('/') != std::string::npos) return is_executable(word) ? std::optional(word) : std::nullopt;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  std::string folder;
  while (std::getline(folders, folder, ':')) {
    // An empty entry means the current folder.
    std::string candidate = comm::core::format("{}/{}", folder.empty() ? "." : folder, word);
    if (is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

std::string shell_word(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Output run_and_hear(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += shell_word(word) + " ";
  FILE* const pipe = popen((line + "2>&1 </dev/null").c_str(), "re");
  Output output;
  if (pipe == nullptr) return output;
  std::array<char, 512> part{};
  for (std::size_t count = 0; (count = fread(part.data(), 1, part.size(), pipe)) > 0;) {
    output.text.append(part.data(), count);
  }
  const int status = pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

std::string find_program(const std::string& word) {
  if (auto found = find_in_path(word)) return *std::move(found);
  const std::string shown = comm::core::quoted(word);
  if (word.find('/') == std::string::npos) {
    const bool here = is_executable("./" + word);
    throw UsageError(
        comm::core::format("there is no program {} in PATH{}", shown,
                           here ? comm::core::format("; for the one in this folder write './{}'", word) : ""));
  }
  struct stat status {};
  if (stat(word.c_str(), &status) != 0) throw UsageError(comm::core::format("{}: {}", shown, std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) throw UsageError(comm::core::format("{} is a folder, not a program", shown));
  throw UsageError(comm::core::format("{} is not executable; chmod +x makes it so", shown));
}

}  // namespace cobre::command
