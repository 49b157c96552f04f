# The PyTorch bridge, where a Python with torch is named; in the release preset
# also `cmake --build --preset release -t bundle-torch`: what a machine with a
# GPU and torch needs to test and time it (scripts/torch-run.sh).
set(FLASHC_TORCH_PYTHON "" CACHE STRING "A Python with torch 2.10 or newer; builds integrations/torch if set")
if(FLASHC_TORCH_PYTHON)
  add_subdirectory(integrations/torch)
  if(FLASHC_STATIC_LLVM)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    add_custom_target(bundle-torch
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/make_torch_bundle.py ${PROJECT_BINARY_DIR}/bundle-torch
              --build ${PROJECT_BINARY_DIR} --source ${PROJECT_SOURCE_DIR} --cmake ${CMAKE_COMMAND}
              --strip ${LLVM_TOOLS_BINARY_DIR}/llvm-strip
      DEPENDS flashc-torch flashc-tools USES_TERMINAL VERBATIM)
  endif()
endif()
