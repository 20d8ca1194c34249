// `cobre-comm run`.
#pragma once

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace cobre::command {

/// Adds the subcommand; `exit_code` is set once it has run. `words` are the arguments of the whole command: the program
/// to run and what follows it are taken off their end, because that is for the program to read.
void add_run(CLI::App& app, std::vector<std::string>& words, int& exit_code);

}  // namespace cobre::command
