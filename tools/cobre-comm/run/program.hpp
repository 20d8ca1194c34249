// Finding programs, as a shell does.
#pragma once

#include <optional>
#include <string>

namespace cobre::command {

/// The file that a shell would execute for this word, if there is one.
[[nodiscard]] std::optional<std::string> find_in_path(const std::string& word);

/// The same for the program that the user wants to run. Throws UsageError that says what is wrong with it.
[[nodiscard]] std::string find_program(const std::string& word);

}  // namespace cobre::command
