# How a test joins the suite.
#
#   cobre_add_test(<name> SOURCES … [LIBRARIES …] [LABELS …])            a GoogleTest program, one CTest entry a test
#   cobre_add_mpi_test(<name> SOURCES … [LIBRARIES …] RANKS 1 2 3 …)     the same, run under the MPI launcher, one entry a rank count

include(GoogleTest)
find_package(GTest REQUIRED)

# Built once and borrowed by all test programs: GoogleTest and the standard headers are most of what a test parses.
function(cobre_test_target name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE cobre_compile_options ${arg_LIBRARIES} GTest::gtest Threads::Threads)
  target_precompile_headers(${name} PRIVATE
    <gtest/gtest.h> <algorithm> <array> <cstdint> <functional> <memory> <numeric> <span> <string> <thread> <vector>)
endfunction()

function(cobre_add_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  cobre_test_target(${name} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES} GTest::gtest_main)
  gtest_discover_tests(${name} TEST_PREFIX "${name}." PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 60)
endfunction()

# Launchers differ only in how they are told that ranks may outnumber cores and that root is welcome.
function(cobre_mpi_launch_command out ranks)
  set(flags)
  if(NOT DEFINED COBRE_COMM_MPIEXEC_VERSION)
    execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_QUIET)
    string(REGEX REPLACE "\n.*" "" version "${version}")
    set(COBRE_COMM_MPIEXEC_VERSION "${version}" CACHE INTERNAL "What the MPI launcher says of itself")
  endif()
  if(COBRE_COMM_MPIEXEC_VERSION MATCHES "Open MPI|OpenRTE")
    # Told to yield: a rank that waits shares its core with whatever else the machine is doing.
    set(flags --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
  endif()
  set(${out} ${MPIEXEC_EXECUTABLE} ${flags} ${MPIEXEC_NUMPROC_FLAG} ${ranks} PARENT_SCOPE)
endfunction()

function(cobre_run_under_mpi test)
  cmake_parse_arguments(arg "" "NAME" "RANKS;LABELS;ARGS" ${ARGN})
  if(NOT arg_NAME)
    set(arg_NAME ${test})
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    cobre_mpi_launch_command(launch ${ranks})
    add_test(NAME ${arg_NAME}.${ranks}_ranks COMMAND ${launch} $<TARGET_FILE:${test}> ${arg_ARGS})
    # A rank keeps a core busy while it waits, whether or not there is a core for it.
    if(ranks GREATER 2)
      set(processors 2)
    else()
      set(processors ${ranks})
    endif()
    set_tests_properties(${arg_NAME}.${ranks}_ranks PROPERTIES LABELS "mpi;${arg_LABELS}" TIMEOUT 120 PROCESSORS ${processors})
  endforeach()
endfunction()

function(cobre_add_mpi_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS;RANKS" ${ARGN})
  cobre_test_target(${name} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  cobre_run_under_mpi(${name} RANKS ${arg_RANKS} LABELS ${arg_LABELS})
endfunction()
