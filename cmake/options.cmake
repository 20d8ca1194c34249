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
option(COBRE_COMM_TCP "Build the tcp backend" ${has_what_tcp_needs})
option(COBRE_COMM_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(COBRE_COMM_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(COBRE_COMM_BUILD_BENCH "Build the benchmarks" OFF)
option(COBRE_COMM_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
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

# What <cobre/comm/config.hpp> says.
set(COBRE_COMM_HAS_MPI ${COBRE_COMM_MPI})
set(COBRE_COMM_HAS_SHM ${COBRE_COMM_SHM})
set(COBRE_COMM_HAS_TCP ${COBRE_COMM_TCP})

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
