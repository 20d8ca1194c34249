// What destructors do that would have to wait for other ranks.
#pragma once

#include <ferrompi/detail/hold.hpp>
#include <ferrompi/detail/mpi.hpp>

namespace ferrompi::detail {

/// Brings a request that nobody waits for to its end, with what remains to be done for it. While an exception passes
/// through, it waits only for a moment: then the peers are taken to wait for this rank as it waits for them, and the
/// job is ended with the cause.
void finish_dropped(MPI_Request& request, OnDrop on_drop, const HoldPtr& hold, bool unwinding,
                    const char* what) noexcept;

/// From now on `mpi_is_usable()` is false and every call throws. False if that was so already.
bool leave_mpi_alone() noexcept;

}  // namespace ferrompi::detail
