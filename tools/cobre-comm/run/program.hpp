// Finding programs, as a shell does.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cobre::command {

/// The file that a shell would execute for this word, if there is one.
[[nodiscard]] std::optional<std::string> find_in_path(const std::string& word);

struct Output {
  std::string text;  // of both streams
  int code = 127;    // as a shell has it
};

/// Runs a program to its end. Code 127 where it cannot be started.
[[nodiscard]] Output run_and_hear(const std::vector<std::string>& command);
[[nodiscard]] inline std::string output_of(const std::vector<std::string>& command) {
  return run_and_hear(command).text;
}

/// A word as a shell reads it: in quotes.
[[nodiscard]] std::string shell_word(const std::string& word);

/// The same for the program that the user wants to run. Throws UsageError that says what is wrong with it.
[[nodiscard]] std::string find_program(const std::string& word);

}  // namespace cobre::command
