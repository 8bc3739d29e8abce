# The libraries for other programs: `cmake --install <build> --component development`, then find_package(Megascope) gives
# Megascope::trace (the recording API and dumps), Megascope::session (running files) and the libraries below them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(megascope_installed base tensor graph opr format feed exec optimize profile compare session trace)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Megascope)
foreach(folder IN LISTS megascope_installed)
  set_target_properties(megascope_${folder} PROPERTIES EXPORT_NAME ${folder})
  install(TARGETS megascope_${folder} EXPORT MegascopeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  # Backends and the run process are reached through exec/backend.h and session/runner.h.
  install(DIRECTORY core/${folder} DESTINATION include/megascope COMPONENT development FILES_MATCHING PATTERN "*.h"
    PATTERN "cpu" EXCLUDE PATTERN "reference" EXCLUDE PATTERN "worker" EXCLUDE PATTERN "schema" EXCLUDE PATTERN "plain_program.h" EXCLUDE)
endforeach()
install(EXPORT MegascopeTargets NAMESPACE Megascope:: DESTINATION ${package_folder} COMPONENT development)

configure_package_config_file(cmake/MegascopeConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/MegascopeConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/MegascopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/MegascopeConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/MegascopeConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT development)
