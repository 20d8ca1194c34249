// Trying things out instead of guessing.
#pragma once

#include <string>

namespace cobre::command {

/// Two processes came together just now, or could not.
struct Probe {
  bool works = false;
  std::string reason = {};  // where it does not work
};

struct ShmProbe : Probe {
  bool single_copy = false;  // large messages go straight between private buffers
};

/// Two processes attach as a group of two. Takes milliseconds where it works, and two seconds at most.
[[nodiscard]] ShmProbe try_shm();

/// The same over the loopback address of this machine.
[[nodiscard]] Probe try_tcp();

/// A job of two processes that the launcher of our MPI library started.
struct MpiProbe : Probe {
  bool tried = false;
  std::string told = {};  // all that they and the launcher said, of the choices of Open MPI too
};

/// `launcher` is empty where there is none. Inside of a job nothing is tried: one more would take its place in the
/// allocation, or wait for one.
[[nodiscard]] MpiProbe try_mpi(const std::string& launcher);

}  // namespace cobre::command
