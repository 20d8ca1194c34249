// How the MPI library moves bytes.
#pragma once

#include <string>

#include "probe.hpp"

namespace cobre::command {

/// `library` is how it introduces itself. Open MPI decides when it starts, so that takes a job that was tried.
[[nodiscard]] std::string transport(const std::string& library, const MpiProbe& probe);

/// What Open MPI tells of its choice when it is asked to tell everything: "ob1 with vader". Empty where it does not.
[[nodiscard]] std::string transport_in(const std::string& told);

}  // namespace cobre::command
