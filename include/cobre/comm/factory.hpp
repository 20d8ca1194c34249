// Making a communicator.
#pragma once

#include <cobre/comm/backend_kind.hpp>
#include <cobre/comm/comm_backend.hpp>

#include <string>
#include <vector>

namespace cobre::comm {

/// Reads COBRE_COMM_BACKEND; unset or "auto" finds out how the program was started. Nothing falls back silently: a
/// backend that is unknown, not in this build, or half-configured is a BackendError that says so.
[[nodiscard]] CommBackend create_communicator();

/// This backend, whatever COBRE_COMM_BACKEND says. Who this rank is still comes from the backend's own variables.
/// `Auto` finds out how the program was started.
[[nodiscard]] CommBackend create_communicator(BackendKind kind);

#ifdef COBRE_COMM_HAS_MPI
/// This configuration; the environment is not read, but for what the launcher announced.
[[nodiscard]] CommBackend create_communicator(const MpiConfig& config);
#endif
#ifdef COBRE_COMM_HAS_SHM
/// This configuration; the environment is not read.
[[nodiscard]] CommBackend create_communicator(const ShmConfig& config);
#endif
#ifdef COBRE_COMM_HAS_TCP
[[nodiscard]] CommBackend create_communicator(const TcpConfig& config);
#endif

/// The backends of this build by name, most capable first.
[[nodiscard]] std::vector<std::string> available_backends();

}  // namespace cobre::comm
