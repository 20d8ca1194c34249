// The windows that are open. MPI wants them freed before it ends, and MPICH crashes when a message for one arrives
// during MPI_Finalize: so what a program left open is freed there, on all ranks in the order in which it was made.
#pragma once

namespace ferrompi::detail {

class WindowState;

void remember_open_window(WindowState& window);
void forget_open_window(WindowState& window) noexcept;

}  // namespace ferrompi::detail
