# One precompiled header for every library and tool of the compiler: MLIR's
# headers take 15 s a file without it and half a second with it.
add_library(flashc_pch OBJECT ${CMAKE_CURRENT_SOURCE_DIR}/cmake/Pch.cpp)
target_precompile_headers(flashc_pch PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/cmake/Pch.h)

function(flashc_compile_options target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/dialects>)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter -Werror=return-type)
endfunction()

function(flashc_compiler_options target)
  flashc_compile_options(${target})
  # An installed flashc finds LLVM anew (cmake/flashcConfig.cmake.in), and fmt
  # is header-only so that no binary needs libfmt.
  target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:flashc_llvm> $<INSTALL_INTERFACE:flashc::llvm>
                                         fmt::fmt-header-only)
  target_compile_options(${target} PRIVATE -fno-exceptions -Xclang -fno-pch-timestamp -fpch-instantiate-templates)
endfunction()
flashc_compiler_options(flashc_pch)

# flashc_add_library(FlashcX [NO_PCH] SOURCES a.cpp ... [LINK libs...] [DEPENDS tblgen targets...])
function(flashc_add_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  add_library(flashc::${name} ALIAS ${name})
  flashc_compiler_options(${name})
  if(NOT ARG_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM flashc_pch)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  # The compiler's headers are not the public ones: they lie apart.
  target_include_directories(${name} PUBLIC $<INSTALL_INTERFACE:include/flashc-compiler>)
  install(TARGETS ${name} EXPORT flashcCompilerTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Compiler)
endfunction()

add_custom_target(flashc-tools)

# flashc_add_tool(name SOURCES a.cpp ... LINK libs...)
function(flashc_add_tool name)
  cmake_parse_arguments(ARG "NO_PCH" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  flashc_compiler_options(${name})
  if(NOT ARG_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM flashc_pch)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  add_dependencies(flashc-tools ${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Runtime)
endfunction()
