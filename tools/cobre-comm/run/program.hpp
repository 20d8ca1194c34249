// Finding programs, as a shell does.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cobre::command {

/// The file that a shell would execute for this word, if there is one.
[[nodiscard]] std::optional<std::string> find_in_path(const std::string& word);

/// What a program of ours prints, both streams; nothing where it cannot be started.
[[nodiscard]] std::string output_of(const std::vector<std::string>& command);

/// A word as a shell reads it: in quotes.
[[nodiscard]] std::string shell_word(const std::string& word);

/// The same for the program that the user wants to run. Throws UsageError that says what is wrong with it.
[[nodiscard]] std::string find_program(const std::string& word);

}  // namespace cobre::command
