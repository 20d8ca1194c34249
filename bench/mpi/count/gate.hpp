#pragma once

namespace probe {

/// While true, calls of MPI return at once.
extern bool gate_is_shut;

}  // namespace probe
