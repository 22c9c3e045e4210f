# What `cmake --install` installs: headers, libraries, the one for C, the plugin,
# tools, the references that `docs` has written, and KVQConfig.cmake, by which
# find_package(KVQ) finds them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Not CMAKE_INSTALL_DOCDIR, which inside LLVM is LLVM's.
set(KVQ_DOC_DIR ${CMAKE_INSTALL_DATAROOTDIR}/doc/kvq)
set(KVQ_LIBRARIES KVQIR KVQTransforms KVQTransformOps KVQConversion KVQPipelines
  KVQEmulator KVQRuntime KVQTarget)
set(KVQ_TOOLS kvq-compile kvq-emulate kvq-lsp-server kvq-opt kvq-reduce
  kvq-translate)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/kvq
  ${PROJECT_SOURCE_DIR}/include/kvq-c
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/kvq
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.inc" PATTERN CMakeFiles EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/docs/
  DESTINATION ${KVQ_DOC_DIR} OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${KVQ_DOC_DIR} RENAME copyright) # as Debian calls it
install(TARGETS ${KVQ_LIBRARIES} EXPORT KVQTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS KVQCAPI EXPORT KVQTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS KVQPlugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${KVQ_TOOLS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The shared libMLIR that they were linked with need not lie in a standard place.
set_target_properties(KVQCAPI KVQPlugin ${KVQ_TOOLS} PROPERTIES
  INSTALL_RPATH_USE_LINK_PATH ON)

set(KVQ_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kvq)
install(EXPORT KVQTargets DESTINATION ${KVQ_CONFIG_DIR})
set(KVQ_PLUGIN ${CMAKE_INSTALL_LIBDIR}/libKVQPlugin.so)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/KVQConfig.cmake.in
  ${PROJECT_BINARY_DIR}/KVQConfig.cmake
  INSTALL_DESTINATION ${KVQ_CONFIG_DIR}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR KVQ_PLUGIN)
# Before 1.0 any minor version may change what programs call.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/KVQConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/KVQConfig.cmake
  ${PROJECT_BINARY_DIR}/KVQConfigVersion.cmake
  DESTINATION ${KVQ_CONFIG_DIR})
