# Where NVIDIA's nvPTXCompiler is installed (package libnvptxcompiler of the CUDA
# toolkit, or the wheel nvidia-nvptxcompiler), makes a shared library of it,
# which flashc opens when it is beside it. NVIDIA ships the archive alone, and
# linked into libflashc.so it would double its size.
find_library(FLASHC_NVPTXCOMPILER_ARCHIVE libnvptxcompiler_static.a
             HINTS /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib)
if(FLASHC_NVPTXCOMPILER_ARCHIVE)
  file(WRITE ${PROJECT_BINARY_DIR}/ptx-compiler.c "")
  file(WRITE ${PROJECT_BINARY_DIR}/ptx-compiler.map "{ global: nvPTXCompiler*; local: *; };\n")
  add_library(flashc-ptx-compiler SHARED ${PROJECT_BINARY_DIR}/ptx-compiler.c)
  set(undefined Create Destroy Compile GetVersion GetCompiledProgram GetCompiledProgramSize
                GetErrorLog GetErrorLogSize GetInfoLog GetInfoLogSize)
  list(TRANSFORM undefined PREPEND "-Wl,-u,nvPTXCompiler")
  # Linked by lld 22 it crashes.
  target_link_options(flashc-ptx-compiler PRIVATE ${undefined} -fuse-ld=bfd -s
                      -Wl,--version-script=${PROJECT_BINARY_DIR}/ptx-compiler.map)
  target_link_libraries(flashc-ptx-compiler PRIVATE ${FLASHC_NVPTXCOMPILER_ARCHIVE} pthread dl m)
  install(TARGETS flashc-ptx-compiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Runtime)
endif()
