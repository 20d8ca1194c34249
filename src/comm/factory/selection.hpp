// Which backend the environment asks for.
#pragma once

#include <cobre/comm/backend_kind.hpp>

namespace cobre::comm::factory {

/// What COBRE_COMM_BACKEND says, `Auto` where it is unset. Throws InvalidBackend for anything that is not a name.
BackendKind requested_backend();

/// How this process was started, first match: addresses for tcp, a name for shm, an MPI launcher, a Slurm step of
/// several tasks, or by itself. Whether this build has that backend is not its business: what a launcher asks for must
/// not silently become something else. Throws InvalidConfiguration for a number of tasks that is none.
BackendKind detect_backend();

/// Throws BackendNotAvailable where this build lacks the backend.
void require_available(BackendKind kind);

}  // namespace cobre::comm::factory
