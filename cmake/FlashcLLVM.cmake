# Finds LLVM and MLIR 22 and defines the interface target `flashc_llvm`, the
# only way that flashc's libraries see them. Installed too: flashcConfig.cmake
# includes it, so that a program built on flashc links LLVM the same way.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
# A request for version "22" is refused by 22.1, so the check is ours.
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "flashc needs LLVM and MLIR 22, but found ${LLVM_VERSION} in ${LLVM_DIR}; "
                      "install libmlir-22-dev or pass -DMLIR_DIR=<prefix>/lib/cmake/mlir")
endif()

add_library(flashc_llvm INTERFACE)
target_include_directories(flashc_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(flashc_llvm INTERFACE ${LLVM_DEFINITIONS_LIST})

if(FLASHC_STATIC_LLVM)
  # The package's CMake targets for MLIR's archives pull in the shared libLLVM,
  # and two copies of LLVM in one process abort ("option registered more than
  # once"). So the archives are named by file.
  find_program(FLASHC_LLVM_CONFIG NAMES llvm-config llvm-config-22 HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED NO_DEFAULT_PATH)
  file(GLOB FLASHC_MLIR_ARCHIVES ${LLVM_LIBRARY_DIR}/libMLIR*.a)
  list(FILTER FLASHC_MLIR_ARCHIVES EXCLUDE REGEX "CAPI|MLIRTest|MLIRPythonSupport|Shared")
  # All of them: the linker takes only the objects that are asked for, and so
  # none of the few that would need libxml2, libz3, libcurl or libedit.
  execute_process(
    COMMAND ${FLASHC_LLVM_CONFIG} --link-static --libfiles all
    OUTPUT_VARIABLE FLASHC_LLVM_ARCHIVES OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(FLASHC_LLVM_ARCHIVES)
  list(FILTER FLASHC_LLVM_ARCHIVES EXCLUDE REGEX "Polly") # listed, but not in the package
  find_library(FLASHC_ZLIB_STATIC libz.a REQUIRED)
  find_library(FLASHC_ZSTD_STATIC libzstd.a REQUIRED)
  target_link_libraries(flashc_llvm INTERFACE
    -Wl,--start-group ${FLASHC_MLIR_ARCHIVES} ${FLASHC_LLVM_ARCHIVES} -Wl,--end-group
    ${FLASHC_ZLIB_STATIC} ${FLASHC_ZSTD_STATIC} pthread dl m)
else()
  target_link_libraries(flashc_llvm INTERFACE MLIR LLVM)
endif()
