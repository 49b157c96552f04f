# `cmake --build --preset release -t bundle` makes bundle/: what a machine with
# a GPU and a driver needs to run and time flashc, and nothing else.
# flashc-run would be a fourth copy of the compiler and take it over 40 MB; the
# tests and flashc-bench launch kernels through the same runtime.
set(programs flashc flashc-bench flashc-gpu-tests)
set(files)
foreach(program IN LISTS programs)
  list(APPEND files $<TARGET_FILE:${program}>)
endforeach()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_target(bundle
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/make_bundle.py ${PROJECT_SOURCE_DIR}/bundle
          --strip ${LLVM_TOOLS_BINARY_DIR}/llvm-strip --source ${PROJECT_SOURCE_DIR} ${files}
  DEPENDS ${programs} USES_TERMINAL VERBATIM)
