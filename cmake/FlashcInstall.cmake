# `cmake --install`, in two components. Runtime: tools, libflashc.so and its
# headers, which need nothing else. Compiler: the libraries of lib/ with their
# headers, for programs built on the compiler itself, which need LLVM and MLIR.
# Libraries and tools are installed where they are defined.
include(CMakePackageConfigHelpers)
set(FLASHC_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/flashc)
set(FLASHC_PUBLIC_HEADERS flashc.h flashc.hpp score.hpp)

foreach(header IN LISTS FLASHC_PUBLIC_HEADERS)
  install(FILES ${PROJECT_SOURCE_DIR}/include/flashc/${header}
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flashc COMPONENT Runtime)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/flashc
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flashc-compiler COMPONENT Compiler
        FILES_MATCHING PATTERN "*/*/*.h" PATTERN "flashc/flashc.h" EXCLUDE)
# The .td files for dialects that build on these; the .inc files for C++.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialects/ ${PROJECT_BINARY_DIR}/dialects/
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/flashc-compiler COMPONENT Compiler
        FILES_MATCHING PATTERN "*.td" PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)

configure_package_config_file(cmake/flashcConfig.cmake.in ${PROJECT_BINARY_DIR}/flashcConfig.cmake
                              INSTALL_DESTINATION ${FLASHC_INSTALL_CMAKE})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/flashcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/flashcConfig.cmake ${PROJECT_BINARY_DIR}/flashcConfigVersion.cmake
        DESTINATION ${FLASHC_INSTALL_CMAKE} COMPONENT Runtime)
install(EXPORT flashcRuntimeTargets NAMESPACE flashc:: DESTINATION ${FLASHC_INSTALL_CMAKE} COMPONENT Runtime)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/FlashcLLVM.cmake DESTINATION ${FLASHC_INSTALL_CMAKE} COMPONENT Compiler)
install(EXPORT flashcCompilerTargets NAMESPACE flashc:: DESTINATION ${FLASHC_INSTALL_CMAKE} COMPONENT Compiler)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Runtime)
