# The Debian packages, by `make package`: one for each install component.
#
# The libraries are named after the project and not after their binary interface (libcobre-comm0.1), as long as that
# changes with every minor version: two versions are not meant to be installed at once.

find_program(COBRE_COMM_DPKG dpkg)
mark_as_advanced(COBRE_COMM_DPKG)
if(NOT COBRE_COMM_DPKG OR NOT BUILD_SHARED_LIBS)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cobre-comm)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has one of its own
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The developers of cobre-comm <cobre-comm@localhost>")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Libraries that others link name themselves, and need the right version of what they link.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src/comm ${PROJECT_BINARY_DIR}/src/ferrompi)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_COMPONENTS_ALL "")

# cobre_debian_package(<component> SECTION <section> SUMMARY <one line> TEXT <what it is for> [NEEDS <component>…]
#                      [DEPENDS <packages of Debian>…])
macro(cobre_debian_package component)
  cmake_parse_arguments(deb "" "SECTION;SUMMARY;TEXT" "NEEDS;DEPENDS" ${ARGN})
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} deb_name)
  set(CPACK_DEBIAN_${deb_name}_PACKAGE_NAME ${component})
  set(CPACK_DEBIAN_${deb_name}_PACKAGE_SECTION ${deb_SECTION})
  set(CPACK_DEBIAN_${deb_name}_DESCRIPTION "${deb_SUMMARY}\n${deb_TEXT}")
  list(TRANSFORM deb_NEEDS APPEND " (= ${PROJECT_VERSION})")
  list(APPEND deb_NEEDS ${deb_DEPENDS})
  list(JOIN deb_NEEDS ", " CPACK_DEBIAN_${deb_name}_PACKAGE_DEPENDS)
endmacro()

# The package that a file is from; nothing for one from elsewhere.
function(cobre_debian_package_of file result)
  file(REAL_PATH ${file} file)
  execute_process(COMMAND ${COBRE_COMM_DPKG} --search ${file} OUTPUT_VARIABLE package ERROR_QUIET)
  string(REGEX REPLACE "[,:].*" "" package "${package}")
  set(${result} ${package} PARENT_SCOPE)
endfunction()

set(deb_with_ferrompi)
set(deb_with_ferrompi_dev)
if(TARGET ferrompi)
  # Who compiles against ferrompi needs the headers of the same MPI: the package that they are from.
  find_file(COBRE_COMM_MPI_HEADER mpi.h HINTS ${MPI_CXX_INCLUDE_DIRS} NO_DEFAULT_PATH REQUIRED)
  mark_as_advanced(COBRE_COMM_MPI_HEADER)
  cobre_debian_package_of(${COBRE_COMM_MPI_HEADER} deb_mpi_package)
  cobre_debian_package(ferrompi SECTION libs SUMMARY "safe C++20 MPI, shared library"
    TEXT "What programs that were built with ferrompi need to run.")
  cobre_debian_package(ferrompi-dev SECTION libdevel SUMMARY "safe C++20 MPI, headers"
    TEXT "Headers, CMake package and pkg-config file of ferrompi:\ntyped MPI with ownership, 64-bit counts and errors that say what to do."
    NEEDS ferrompi DEPENDS ${deb_mpi_package})
  set(deb_with_ferrompi ferrompi)
  set(deb_with_ferrompi_dev ferrompi-dev)
endif()
cobre_debian_package(cobre-comm SECTION libs SUMMARY "one parallel program on any number of processes, shared library"
  TEXT "What programs that were built with cobre-comm need to run:\nthe backends for shared memory, TCP and MPI."
  NEEDS ${deb_with_ferrompi})
cobre_debian_package(cobre-comm-dev SECTION libdevel
  SUMMARY "one parallel program on any number of processes, headers"
  TEXT "Headers, CMake package and pkg-config file of cobre-comm." NEEDS cobre-comm ${deb_with_ferrompi_dev})
if(TARGET cobre_comm_command)
  cobre_debian_package(cobre-comm-tools SECTION utils SUMMARY "the command cobre-comm"
    TEXT "Starts the ranks of a job on this machine, over ssh or under MPI,\nand tells what is here and why something cannot be used."
    NEEDS cobre-comm)
  set(deb_recommended openssh-client)  # what --hosts reaches hosts with
  if(COBRE_COMM_MPI AND MPIEXEC_EXECUTABLE)
    cobre_debian_package_of(${MPIEXEC_EXECUTABLE} deb_mpi_launcher)  # what starts ranks under MPI
    list(APPEND deb_recommended ${deb_mpi_launcher})
  endif()
  list(JOIN deb_recommended ", " CPACK_DEBIAN_COBRE-COMM-TOOLS_PACKAGE_RECOMMENDS)
endif()
include(CPack)
