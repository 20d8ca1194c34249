// `cobre-comm info`.
#pragma once

#include <CLI/App.hpp>

namespace cobre::command {

/// Adds the subcommand; `exit_code` is set once it has run.
void add_info(CLI::App& app, int& exit_code);

}  // namespace cobre::command
