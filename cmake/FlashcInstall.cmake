# `cmake --install`: tools, libraries, headers and find_package(flashc). The
# libraries and tools are installed where they are defined (FlashcTargets).
include(CMakePackageConfigHelpers)
set(FLASHC_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/flashc)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/flashc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The .td files for dialects that build on these; the .inc files for C++.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialects/ ${PROJECT_BINARY_DIR}/dialects/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.td" PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)

configure_package_config_file(cmake/flashcConfig.cmake.in ${PROJECT_BINARY_DIR}/flashcConfig.cmake
                              INSTALL_DESTINATION ${FLASHC_INSTALL_CMAKE})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/flashcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/flashcConfig.cmake ${PROJECT_BINARY_DIR}/flashcConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FlashcLLVM.cmake
        DESTINATION ${FLASHC_INSTALL_CMAKE})
install(EXPORT flashcTargets NAMESPACE flashc:: DESTINATION ${FLASHC_INSTALL_CMAKE})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
