# What a C++ user gets: librondel, the public headers, the CMake package (rondel::rondel) and rondel.pc.
# All of it is the component `development`. The component `python` is not part of a plain install.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

install(TARGETS rondel EXPORT rondel
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# What compiled models are linked from lies beside the library.
install(FILES $<TARGET_FILE_DIR:rondel>/rondel_linked.o DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rondel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development FILES_MATCHING PATTERN *.h)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rondel)
install(EXPORT rondel FILE rondel-config.cmake NAMESPACE rondel:: DESTINATION ${package}
  COMPONENT development)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/rondel-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rondel-config-version.cmake DESTINATION ${package}
  COMPONENT development)

# The paths in rondel.pc are relative to it, so that the prefix can be moved.
set(pc_folder ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${pc_folder} OUTPUT_VARIABLE prefix)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${pc_folder} OUTPUT_VARIABLE libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${pc_folder} OUTPUT_VARIABLE includedir)
configure_file(${CMAKE_CURRENT_LIST_DIR}/rondel.pc.in ${CMAKE_CURRENT_BINARY_DIR}/rondel.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rondel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)
