# How a test joins the suite.
#
#   cobre_add_test(<name> SOURCES … [LIBRARIES …] [LABELS …] [ENVIRONMENT …] [COST <n>] [RUN_SERIAL])
#                                       a GoogleTest program, one CTest entry a test; RUN_SERIAL: each of which runs alone
#   cobre_add_test(<name> BY_SUITE SOURCES … [LIBRARIES …] [LABELS …])
#                                       one entry a suite: for cases that take less time than a process, and leave nothing behind
#   cobre_add_mpi_test(<name> SOURCES … [LIBRARIES …] RANKS 1 2 3 …)     the same, run under the MPI launcher, one entry a rank count
#
# COST is CTest's: what has more begins sooner, so that the longest, and those that need two cores, do not end alone.
# CONTRIBUTING.md says what the labels mean. A configuration builds the tests that it runs and no other: the programs of
# the others are targets, but nobody asks for them.

set(COBRE_COMM_TEST_LABELS "" CACHE STRING "Build only the tests that carry one of these labels; empty for all")
set(COBRE_COMM_TEST_WITHOUT "" CACHE STRING "Build none of the tests that carry one of these labels")
set(COBRE_COMM_TEST_RANKS "1;2;3;4;5;8" CACHE STRING "The rank counts of the conformance suite")

# Examples and benchmarks that are tests are started as the tests are.
if(COBRE_COMM_MPI)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(cobre_mpi_launch_wrapper ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/support/launch_watched.py)
endif()

# cobre_test_is_wanted(<out> <labels of the test>…)
function(cobre_test_is_wanted out)
  set(wanted TRUE)
  if(COBRE_COMM_TEST_LABELS)
    set(wanted FALSE)
  endif()
  foreach(label IN LISTS ARGN)
    if(label IN_LIST COBRE_COMM_TEST_LABELS)
      set(wanted TRUE)
    endif()
  endforeach()
  foreach(label IN LISTS ARGN)
    if(label IN_LIST COBRE_COMM_TEST_WITHOUT)
      set(wanted FALSE)
    endif()
  endforeach()
  set(${out} ${wanted} PARENT_SCOPE)
endfunction()

# A program that is built only where a test that runs it is wanted:
#
#   cobre_leave_to_tests(<target>…)       from here on nobody asks for it …
#   cobre_build_for_tests(<target>…)      … until a test does
function(cobre_leave_to_tests)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()
function(cobre_build_for_tests)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL OFF)
endfunction()

include(GoogleTest)
find_package(GTest REQUIRED)

add_library(cobre_test_options INTERFACE)
target_link_libraries(cobre_test_options INTERFACE cobre_compile_options GTest::gtest Threads::Threads)
# What is tested is optimised; the tests need not be. clang takes a third of the time where it need not optimise what a sanitizer
# wrote into a test; what runs for longer than that says so (COBRE_IS_BUSY).
target_compile_options(cobre_test_options INTERFACE $<$<CONFIG:Release>:-O1>)
if(COBRE_COMM_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(cobre_test_options INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:COBRE_IS_BUSY>>>:-O0>)
endif()

# Parsed once and borrowed by all test programs: GoogleTest, the standard headers and what is tested are most of what a test
# includes. An executable like its borrowers, because position-independent code for a library is compiled differently.
function(cobre_add_test_headers name)
  cmake_parse_arguments(arg "" "" "LIBRARIES;HEADERS" ${ARGN})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "int main() {}\n")
  add_executable(${name} ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE cobre_test_options ${arg_LIBRARIES})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS}
    <gtest/gtest.h> <algorithm> <array> <cstdint> <functional> <memory> <numeric> <span> <string> <thread> <vector>)
endfunction()
cobre_add_test_headers(cobre_test_headers)
cobre_add_test_headers(cobre_comm_test_headers LIBRARIES cobre::comm HEADERS <cobre/comm.hpp>)

# What users include is most of what the compiler reads of an example or of a program on a page. Nothing is in the parsed header
# but that one, so it hides no other that such a program forgot.
function(cobre_add_user_headers name library header)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "int main() {}\n")
  add_executable(${name} EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE cobre_compile_options ${library})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_precompile_headers(${name} PRIVATE ${header})
endfunction()
cobre_add_user_headers(cobre_comm_user_headers cobre::comm <cobre/comm.hpp>)
if(COBRE_COMM_MPI)
  cobre_add_user_headers(ferrompi_user_headers ferrompi::ferrompi <ferrompi/ferrompi.hpp>)
endif()

# cobre_borrow_user_headers(<target> <its source>): whichever of the two it includes
function(cobre_borrow_user_headers target source)
  file(STRINGS ${source} includes REGEX "^#include <(cobre/comm|ferrompi/ferrompi)\\.hpp>")
  if(includes MATCHES "cobre")
    target_precompile_headers(${target} REUSE_FROM cobre_comm_user_headers)
  elseif(includes)
    target_precompile_headers(${target} REUSE_FROM ferrompi_user_headers)
  endif()
endfunction()

if(COBRE_COMM_MPI AND COBRE_COMM_SANITIZE MATCHES "address")
  set(cobre_test_extras ${PROJECT_SOURCE_DIR}/tests/sanitizers/mpi_leaks.cpp)
endif()

function(cobre_test_target name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES} ${cobre_test_extras})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE cobre_test_options ${arg_LIBRARIES})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)  # each file of a test has helpers of its own
  # The libraries of the command and of the application bring that of communication with them.
  if(arg_LIBRARIES MATCHES "cobre::comm|conformance_suite|_parts")
    target_precompile_headers(${name} REUSE_FROM cobre_comm_test_headers)
  else()
    target_precompile_headers(${name} REUSE_FROM cobre_test_headers)
  endif()
endfunction()

# What is in the program is known once it is built, as with gtest_discover_tests().
function(cobre_discover_suites name labels)
  set(entries ${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake)
  add_custom_command(TARGET ${name} POST_BUILD BYPRODUCTS ${entries} VERBATIM COMMAND ${CMAKE_COMMAND}
    -DPROGRAM=$<TARGET_FILE:${name}> -DNAME=${name} "-DLABELS=${labels}" -DOUTPUT=${entries}
    -P ${PROJECT_SOURCE_DIR}/cmake/discover_suites.cmake)
  set(included ${CMAKE_CURRENT_BINARY_DIR}/${name}_include.cmake)
  file(WRITE ${included}
    "if(EXISTS [==[${entries}]==])\n  include([==[${entries}]==])\nelse()\n  add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${included})
endfunction()

function(cobre_add_test name)
  cmake_parse_arguments(arg "RUN_SERIAL;BY_SUITE" "COST" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT" ${ARGN})
  cobre_test_target(${name} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES} GTest::gtest_main)
  cobre_leave_to_tests(${name})
  cobre_test_is_wanted(wanted ${arg_LABELS})
  if(wanted AND arg_BY_SUITE)
    cobre_build_for_tests(${name})
    cobre_discover_suites(${name} "${arg_LABELS}")
  elseif(wanted)
    cobre_build_for_tests(${name})
    set(more "")
    if(arg_ENVIRONMENT)
      list(APPEND more ENVIRONMENT "${arg_ENVIRONMENT}")
    endif()
    if(arg_COST)
      list(APPEND more COST ${arg_COST})
    endif()
    gtest_discover_tests(${name} TEST_PREFIX "${name}." PROPERTIES
      LABELS "${arg_LABELS}" TIMEOUT 60 RUN_SERIAL ${arg_RUN_SERIAL} ${more})
  endif()
endfunction()

function(cobre_run_under_mpi test)
  cmake_parse_arguments(arg "" "NAME" "RANKS;LABELS;ARGS;ENVIRONMENT" ${ARGN})
  cobre_test_is_wanted(wanted mpi ${arg_LABELS})
  if(NOT wanted)
    return()
  endif()
  cobre_build_for_tests(${test})
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
    # Open MPI is told to yield: a rank that waits shares its core with whatever else the machine is doing.
    set_tests_properties(${arg_NAME}.${ranks}_ranks PROPERTIES LABELS "mpi;${arg_LABELS}" TIMEOUT 120
                         PROCESSORS ${processors} ENVIRONMENT "OMPI_MCA_mpi_yield_when_idle=1;${arg_ENVIRONMENT}")
  endforeach()
endfunction()

function(cobre_add_mpi_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS;RANKS;ENVIRONMENT" ${ARGN})
  cobre_test_target(${name} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES})
  cobre_leave_to_tests(${name})
  cobre_run_under_mpi(${name} RANKS ${arg_RANKS} LABELS ${arg_LABELS} ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()
