"""The lit suite: every file below test/ (but unittests/ and scripts/) with a RUN line.

Features a test can ask for with REQUIRES, found here by looking, not by setting:
  ptxas     NVIDIA's assembler, on PATH or under the CUDA toolkit's usual prefix
  cuda-headers  cuda.h under the CUDA toolkit's usual prefix
  gpu       a CUDA device that the driver can open; gpu-sm80, gpu-sm90: of at least that architecture
  release   the binaries hold LLVM themselves (FLASHC_STATIC_LLVM)
  asan      the binaries are built with sanitizers
  torch     a PyTorch that %python can import
A test whose feature is missing is reported by name as unsupported.
"""

import ctypes
import os
import shutil
import subprocess

import lit.formats

config.name = "flashc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unittests", "scripts", "Inputs", "corpus"]
config.test_source_root = os.path.dirname(__file__)

CUDA = "/usr/local/cuda"
CUDA_BIN = os.path.join(CUDA, "bin")
path = [config.flashc_tools, config.llvm_tools, os.environ["PATH"]]


def gpu_architecture():
    """10 * major + minor of device 0, or 0 where the driver finds none."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGet(ctypes.byref(device), 0) != 0:
        return 0
    COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76  # CUdevice_attribute
    cuda.cuDeviceGetAttribute(ctypes.byref(major), COMPUTE_CAPABILITY_MAJOR, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), COMPUTE_CAPABILITY_MINOR, device)
    return 10 * major.value + minor.value


if not shutil.which("ptxas") and os.access(os.path.join(CUDA_BIN, "ptxas"), os.X_OK):
    path.append(CUDA_BIN)
config.environment["PATH"] = os.pathsep.join(path)

if shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")
if os.path.exists(os.path.join(CUDA, "include", "cuda.h")):
    config.available_features.add("cuda-headers")
architecture = gpu_architecture()
if architecture:
    config.available_features.add("gpu")
    for sm in (75, 80, 86, 89, 90):
        if architecture >= sm:
            config.available_features.add(f"gpu-sm{sm}")
if config.static_llvm:
    config.available_features.add("release")
if subprocess.run([config.python, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"]).returncode == 0:
    config.available_features.add("torch")
if config.sanitized:
    config.available_features.add("asan")
    # LLVM's arenas are poisoned by its headers in our code, and written by its library, which is not instrumented.
    config.environment["ASAN_OPTIONS"] = "detect_leaks=0:allow_user_poisoning=0"

# FileCheck-22 is Debian's name of the same program.
config.substitutions += [
    (r"\bFileCheck(-22)?\b", os.path.join(config.llvm_tools, "FileCheck")),
    ("%python", config.python),
    ("%cmake", config.cmake),
    ("%cxx", config.cxx),
    ("%cuda", CUDA),
    ("%llvm_lib", os.path.join(os.path.dirname(config.llvm_tools), "lib")),
    ("%src", config.flashc_src),
    ("%obj", config.flashc_obj),
    ("%mlir_include", config.mlir_include),
    ("%tools", config.flashc_tools),
]
