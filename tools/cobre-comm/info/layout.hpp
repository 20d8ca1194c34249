// Who runs where, as the ranks of a job see it.
#pragma once

namespace cobre::command {

/// Collective: every process of the job calls it, rank 0 prints. Returns the exit code.
[[nodiscard]] int show_layout(bool as_json);

}  // namespace cobre::command
