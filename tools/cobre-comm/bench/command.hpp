// `cobre-comm bench`.
#pragma once

#include <CLI/App.hpp>

namespace cobre::command {

/// Adds the subcommand; `exit_code` is set once it has run.
void add_bench(CLI::App& app, int& exit_code);

}  // namespace cobre::command
