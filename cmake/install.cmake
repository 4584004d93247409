# What `cmake --install` puts where: libraries, headers, the description of the API, pkg-config
# files and the CMake package.
include(CMakePackageConfigHelpers)

set(targets dumbtorch)
if(TARGET dumbtorch_static)
  list(APPEND targets dumbtorch_static)
endif()
install(TARGETS ${targets} EXPORT dumbtorch
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Core looks for the plugin in the folder that it lies in itself.
if(TARGET dumbtorch_cuda)
  install(TARGETS dumbtorch_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY capi/include/ wrappers/c/ wrappers/cpp/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY share/dumbtorch DESTINATION ${CMAKE_INSTALL_DATADIR})

# pkg-config: `dumbtorch` for the shared library, `dumbtorch-static` for the archive. The prefix is
# found from the file's own place, so an installed tree can be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH DT_PC_PREFIX /prefix/${pkgconfig_dir} /prefix)
set(DT_PC_NAME dumbtorch)
set(DT_PC_LIBS "-L\${libdir} -ldumbtorch")
configure_file(cmake/dumbtorch.pc.in dumbtorch.pc @ONLY)
set(DT_PC_NAME dumbtorch-static)
set(DT_PC_LIBS "\${libdir}/libdumbtorch.a -lstdc++ -lm -pthread")
configure_file(cmake/dumbtorch.pc.in dumbtorch-static.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/dumbtorch.pc DESTINATION ${pkgconfig_dir})
if(TARGET dumbtorch_static)
  install(FILES ${PROJECT_BINARY_DIR}/dumbtorch-static.pc DESTINATION ${pkgconfig_dir})
endif()

# find_package(dumbtorch) gives dumbtorch::dumbtorch and, where it was built, dumbtorch::static.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dumbtorch)
set(package_file ${PROJECT_BINARY_DIR}/dumbtorchConfig.cmake)
set(version_file ${PROJECT_BINARY_DIR}/dumbtorchConfigVersion.cmake)
configure_package_config_file(cmake/dumbtorchConfig.cmake.in ${package_file}
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${version_file} COMPATIBILITY ${DT_ABI_COMPATIBILITY})
install(FILES ${package_file} ${version_file} DESTINATION ${package_dir})
install(EXPORT dumbtorch NAMESPACE dumbtorch:: FILE dumbtorchTargets.cmake
        DESTINATION ${package_dir})
