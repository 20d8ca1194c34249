# How every target of the tree is compiled.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
find_package(Threads REQUIRED)

add_library(cobre_compile_options INTERFACE)
target_compile_options(cobre_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<BOOL:${COBRE_COMM_WERROR}>:-Werror>
  # The bits of a reduction must not depend on whether a compiler fused a multiplication into an addition.
  -ffp-contract=off)
# Where several sources are compiled as one (UNITY_BUILD), each is a file that another one includes, and sees what is local to
# others. clang does not mind that; of GCC these warnings are on where each is compiled by itself.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
target_compile_options(cobre_compile_options INTERFACE
  "$<$<AND:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<CXX_COMPILER_ID:GNU>>:-Wno-shadow;-Wno-subobject-linkage>")
if(COBRE_COMM_CRASH_POINTS)
  target_compile_definitions(cobre_compile_options INTERFACE COBRE_COMM_CRASH_POINTS)
endif()
if(COBRE_COMM_SANITIZE)
  target_compile_options(cobre_compile_options INTERFACE
    -fsanitize=${COBRE_COMM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # GCC's own manual: with a sanitizer this warning is often wrong.
  target_compile_options(cobre_compile_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(cobre_compile_options INTERFACE -fsanitize=${COBRE_COMM_SANITIZE})
endif()

# One library of the product: cobre_add_library(<target> ALIAS <namespace::name> SOURCES <files…>)
function(cobre_add_library target)
  cmake_parse_arguments(arg "" "ALIAS" "SOURCES" ${ARGN})
  add_library(${target} ${arg_SOURCES})
  add_library(${arg_ALIAS} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:cobre_compile_options>)
  # Before 1.0 a minor version may break what was linked, so it is part of the name that programs ask for. The macro that
  # CMake defines for shared libraries would only keep them from sharing compiled files with static ones.
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} DEFINE_SYMBOL "")
endfunction()

# cobre_precompile_headers(<target> [<header>…]): these, and what most sources include, are parsed once. Each source names what
# it uses all the same: a configuration without COBRE_COMM_PRECOMPILE reads it without this.
function(cobre_precompile_headers target)
  if(COBRE_COMM_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN}
      <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <functional> <memory> <mutex> <optional> <span> <string>
      <thread> <vector>)
  endif()
endfunction()
