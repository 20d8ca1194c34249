# What is installed, and how others find it: CMake packages and pkg-config files, both relocatable.
#
# Two packages: `cobre-comm`, and `ferrompi`, which stands alone. Where the mpi backend is on, the first brings the second.
# Each has two install components, <package> for those who run programs and <package>-dev for those who compile them; the
# command is the component cobre-comm-tools. `debian.cmake` makes a .deb of each.

include(CMakePackageConfigHelpers)

set(cobre_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake)
set(cobre_pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# From the folder of the .pc files back to the prefix, wherever that is moved to.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/${cobre_pkgconfig_folder}
  OUTPUT_VARIABLE cobre_prefix_from_pkgconfig)

# cobre_install_package(<package> <target> NAMESPACE <ns::> HEADERS <folders and files below include/> [WITHOUT <pattern>])
function(cobre_install_package package target)
  cmake_parse_arguments(arg "" "NAMESPACE;WITHOUT" "HEADERS" ${ARGN})
  set(folder ${cobre_cmake_folder}/${package})
  set(for_developers COMPONENT ${package}-dev)

  # A library finds the other one beside itself.
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${target} EXPORT ${package}-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${package} NAMELINK_COMPONENT ${package}-dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${for_developers})
  install(EXPORT ${package}-targets NAMESPACE ${arg_NAMESPACE} DESTINATION ${folder} ${for_developers})
  set(without)
  if(arg_WITHOUT)
    set(without PATTERN ${arg_WITHOUT} EXCLUDE)
  endif()
  foreach(header IN LISTS arg_HEADERS)
    cmake_path(GET header PARENT_PATH parent)
    install(DIRECTORY include/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${parent} ${for_developers}
      FILES_MATCHING PATTERN "*.hpp" ${without})
  endforeach()

  configure_package_config_file(cmake/package/${package}-config.cmake.in ${PROJECT_BINARY_DIR}/${package}-config.cmake
    INSTALL_DESTINATION ${folder} NO_SET_AND_CHECK_MACRO)
  # Before 1.0 a minor version may break what compiled.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/${package}-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/${package}-config.cmake ${PROJECT_BINARY_DIR}/${package}-config-version.cmake
    DESTINATION ${folder} ${for_developers})

  configure_file(cmake/package/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${cobre_pkgconfig_folder} ${for_developers})
  cobre_install_licence(${package})
  cobre_install_licence(${package}-dev)
endfunction()

# Where Debian looks for it.
function(cobre_install_licence component)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} RENAME copyright COMPONENT ${component})
endfunction()

if(TARGET ferrompi)
  # Applications call MPI themselves, through the templates of ferrompi: they need the same MPI that it was built with.
  find_program(COBRE_COMM_MPI_WRAPPER ${MPI_CXX_COMPILER} REQUIRED)  # a preset gives its name, the package needs its path
  mark_as_advanced(COBRE_COMM_MPI_WRAPPER)
  list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND "-I" OUTPUT_VARIABLE cobre_mpi_cflags)
  list(JOIN cobre_mpi_cflags " " cobre_mpi_cflags)
  list(JOIN MPI_CXX_LIBRARIES " " cobre_mpi_libs)
  cobre_install_package(ferrompi ferrompi NAMESPACE ferrompi:: HEADERS ferrompi cobre/comm/base)
endif()

set(cobre_pc_requires "")
if(COBRE_COMM_HAS_MPI)
  set(cobre_pc_requires "ferrompi = ${PROJECT_VERSION}")
endif()
set(cobre_links_hwloc OFF)
set(cobre_links_crypto OFF)
set(cobre_pc_libs "")
if(COBRE_COMM_HAS_HWLOC AND NOT BUILD_SHARED_LIBS)
  set(cobre_links_hwloc ON)
  string(APPEND cobre_pc_libs " -lhwloc")
endif()
if(COBRE_COMM_HAS_TCP AND NOT BUILD_SHARED_LIBS)
  set(cobre_links_crypto ON)
  string(APPEND cobre_pc_libs " -lcrypto -pthread")
  if(COBRE_COMM_MUNGE_LIBRARY)
    string(APPEND cobre_pc_libs " -lmunge")
  endif()
endif()
# What both layers share comes with ferrompi, and must not come twice.
set(cobre_comes_with_ferrompi)
if(TARGET ferrompi)
  set(cobre_comes_with_ferrompi WITHOUT base)
endif()
cobre_install_package(cobre-comm cobre_comm NAMESPACE cobre:: HEADERS cobre ${cobre_comes_with_ferrompi})
install(FILES ${PROJECT_BINARY_DIR}/include/cobre/comm/config.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cobre/comm COMPONENT cobre-comm-dev)
if(TARGET cobre_comm_command)
  install(TARGETS cobre_comm_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cobre-comm-tools)
  cobre_install_licence(cobre-comm-tools)
endif()
if(PROJECT_IS_TOP_LEVEL)
  include(debian)
endif()
