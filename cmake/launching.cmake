# How a program is started under MPI.
#
#   cobre_mpi_launch_command(<out> <ranks>)      the command that goes before the program
#
# cobre_mpi_launch_wrapper, where it is set, is a command that goes before the launcher.

if(COBRE_COMM_MPI)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version
    OUTPUT_VARIABLE cobre_mpi_launcher ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
endif()

# Launchers differ only in how they are told that ranks may outnumber cores and that root is welcome.
function(cobre_mpi_launch_command out ranks)
  set(flags)
  if(cobre_mpi_launcher MATCHES "Open MPI|OpenRTE")
    set(flags --allow-run-as-root --oversubscribe --bind-to none)
  endif()
  set(${out} ${cobre_mpi_launch_wrapper} ${MPIEXEC_EXECUTABLE} ${flags} ${MPIEXEC_NUMPROC_FLAG} ${ranks} PARENT_SCOPE)
endfunction()
