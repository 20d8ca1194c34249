# What is built. Backends are additive and `local` is always there; each defaults to ON where what it needs is found.

# MPI is used through its C interface, from C++; the C++ bindings that MPI-3 removed stay out.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)

option(COBRE_COMM_MPI "Build ferrompi and the mpi backend" ${MPI_CXX_FOUND})
# Memory files, process descriptors and futexes are Linux's own.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(is_linux ON)
else()
  set(is_linux OFF)
endif()
option(COBRE_COMM_SHM "Build the shm backend" ${is_linux})
# libcrypto proves that ranks belong to one job.
find_package(OpenSSL 3 QUIET COMPONENTS Crypto)
if(is_linux AND OPENSSL_FOUND)
  set(has_what_tcp_needs ON)
else()
  set(has_what_tcp_needs OFF)
endif()
# Stands in for a secret under Slurm, where it is installed.
find_library(COBRE_COMM_MUNGE_LIBRARY munge)
mark_as_advanced(COBRE_COMM_MUNGE_LIBRARY)
option(COBRE_COMM_TCP "Build the tcp backend" ${has_what_tcp_needs})
# The command needs an option parser and processes as Linux has them; NUMA domains are hwloc's knowledge.
find_package(CLI11 QUIET)
find_package(nlohmann_json QUIET)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc>=2.0)
endif()
if(is_linux AND CLI11_FOUND AND nlohmann_json_FOUND)
  set(command_can_be_built ON)
else()
  set(command_can_be_built OFF)
endif()
option(COBRE_COMM_COMMAND "Build the command cobre-comm" ${command_can_be_built})
option(COBRE_COMM_HWLOC "Ask hwloc which NUMA domains the ranks run on" ${HWLOC_FOUND})
option(COBRE_COMM_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(COBRE_COMM_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(COBRE_COMM_BUILD_BENCH "Build the benchmarks" OFF)
option(COBRE_COMM_BENCH_PEERS "Build every peer of cobre-comm bench whose library is installed here"
  ${COBRE_COMM_BUILD_BENCH})
option(COBRE_COMM_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(COBRE_COMM_PRECOMPILE "Parse once what most sources of a library include" ${PROJECT_IS_TOP_LEVEL})
option(COBRE_COMM_CRASH_POINTS "Plant the places in which a test lets ranks die (src/comm/core/crash_point.hpp)" OFF)
set(COBRE_COMM_SANITIZE "" CACHE STRING "Sanitizers for the whole build, such as address,undefined or thread")

if(COBRE_COMM_MPI AND NOT MPI_CXX_FOUND)
  message(FATAL_ERROR "COBRE_COMM_MPI is ON, but no MPI was found: install libopenmpi-dev or libmpich-dev, "
    "point MPI_CXX_COMPILER at its compiler wrapper, or switch COBRE_COMM_MPI off")
endif()

if(COBRE_COMM_SHM AND NOT is_linux)
  message(FATAL_ERROR "COBRE_COMM_SHM is ON, but the shm backend needs Linux")
endif()
if(COBRE_COMM_TCP AND NOT has_what_tcp_needs)
  message(FATAL_ERROR "COBRE_COMM_TCP is ON, but the tcp backend needs Linux and OpenSSL 3: install libssl-dev, "
    "or switch COBRE_COMM_TCP off")
endif()
if(COBRE_COMM_HWLOC AND NOT HWLOC_FOUND)
  message(FATAL_ERROR "COBRE_COMM_HWLOC is ON, but hwloc 2 was not found: install libhwloc-dev and pkg-config")
endif()
if(COBRE_COMM_COMMAND AND NOT command_can_be_built)
  message(FATAL_ERROR "COBRE_COMM_COMMAND is ON, but the command needs Linux, CLI11 and nlohmann-json: install "
    "libcli11-dev and nlohmann-json3-dev")
endif()

# What <cobre/comm/config.hpp> says.
set(COBRE_COMM_HAS_MPI ${COBRE_COMM_MPI})
set(COBRE_COMM_HAS_SHM ${COBRE_COMM_SHM})
set(COBRE_COMM_HAS_TCP ${COBRE_COMM_TCP})
set(COBRE_COMM_HAS_HWLOC ${COBRE_COMM_HWLOC})

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# A compiler cache where there is one. Precompiled headers need it to look away from time stamps and macro tables,
# and paths relative to the tree let two clones share what they compiled.
if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(COBRE_COMM_CCACHE ccache)
  mark_as_advanced(COBRE_COMM_CCACHE)
  if(COBRE_COMM_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${COBRE_COMM_CCACHE})
  endif()
endif()
