#!/usr/bin/env python3
"""libflashc.so as a process sees it: its size, how long it takes to load, and other copies of LLVM beside it.

usage: check_library.py LIBFLASHC STRIP OTHER_LLVM

Runs a kernel on the CPU in processes that have loaded another LLVM before or after libflashc.so: OTHER_LLVM (a shared
library of the same version) and, where Python has it, llvmlite. Fails where the library is 60 MB or more stripped, takes
30 ms or more to load, or computes something else.
"""

import ctypes
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile

MOST_BYTES, MOST_SECONDS = 60e6, 0.030

Context, Kernel, Error = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("target", ctypes.c_char_p), ("rest", ctypes.c_char * 80)]


class Spec(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("head_dim", ctypes.c_int32), ("value_head_dim", ctypes.c_int32),
                ("heads", ctypes.c_int32), ("kv_heads", ctypes.c_int32), ("dtype", ctypes.c_int32),
                ("kv_lengths", ctypes.c_int32), ("no_lse", ctypes.c_int32), ("rest", ctypes.c_char * 124)]


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * 4), ("strides", ctypes.c_int64 * 4)]


class Arguments(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("query", Array), ("key", Array), ("value", Array), ("output", Array),
                ("lse", Array), ("kv_lengths", Array), ("captures", ctypes.c_void_p), ("capture_count", ctypes.c_size_t)]


def run_kernel(path):
    """One query over keys of zeros: the mean of the values, 1 and 3."""
    library = ctypes.CDLL(path)
    library.flashc_error_message.restype = ctypes.c_char_p

    def call(name, *arguments):
        function = getattr(library, name)
        function.restype = ctypes.c_void_p
        error = function(*arguments)
        if error:
            sys.exit(library.flashc_error_message(ctypes.c_void_p(error)).decode())

    F32, DIM = 3, 8
    options = Options(size=ctypes.sizeof(Options), target=b"cpu")
    spec = Spec(size=ctypes.sizeof(Spec), head_dim=DIM, dtype=F32, no_lse=1)
    context, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    call("flashc_context_create", ctypes.byref(options), ctypes.byref(context))
    call("flashc_compile", context, ctypes.byref(spec), None, None, ctypes.byref(kernel))
    keep = []

    def array(values):
        data = (ctypes.c_float * len(values))(*values)
        keep.append(data)
        length = len(values) // DIM
        return Array(ctypes.addressof(data), F32, 4, (1, 1, length, DIM), (length * DIM, length * DIM, DIM, 1))

    arguments = Arguments(size=ctypes.sizeof(Arguments), query=array([0] * DIM), key=array([0] * 2 * DIM),
                          value=array([1] * DIM + [3] * DIM), output=array([9] * DIM))
    call("flashc_launch", kernel, None, ctypes.byref(arguments))
    if list(keep[3]) != [2.0] * DIM:
        sys.exit(f"the output is {list(keep[3])}, not 2")


def use_other(library):
    """Do something with LLVM's C API, so that its globals are alive."""
    other = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    other.LLVMContextCreate.restype = ctypes.c_void_p
    other.LLVMContextDispose(ctypes.c_void_p(other.LLVMContextCreate()))


def use_llvmlite():
    import llvmlite.binding
    llvmlite.binding.initialize_native_target()
    llvmlite.binding.parse_assembly("define i32 @f() { ret i32 7 }").verify()


def in_process(what, library, other):
    print(f"{what}: ", end="", flush=True)
    subprocess.run([sys.executable, __file__, "--child", what, library, other], check=True)
    print("right")


def child(what, library, other):
    steps = {"alone": [lambda: run_kernel(library)],
             "another LLVM before": [lambda: use_other(other), lambda: run_kernel(library), lambda: use_other(other)],
             "another LLVM after": [lambda: run_kernel(library), lambda: use_other(other), lambda: run_kernel(library)],
             "llvmlite before": [use_llvmlite, lambda: run_kernel(library), use_llvmlite]}
    for step in steps[what]:
        step()


def load_seconds(library):
    """Median over new processes of what dlopen takes."""
    code = f"import ctypes, time; t = time.perf_counter(); ctypes.CDLL({library!r}); print(time.perf_counter() - t)"
    return statistics.median(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(9))


def main():
    library, strip, other = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "libflashc.so")
        subprocess.run([strip, "-o", stripped, library], check=True)
        size, seconds = os.path.getsize(stripped), load_seconds(stripped)
        print(f"figure: {size / 1e6:.1f} MB stripped, loads in {1e3 * seconds:.1f} ms")
        in_process("alone", stripped, other)
        in_process("another LLVM before", stripped, other)
        in_process("another LLVM after", stripped, other)
        if importlib.util.find_spec("llvmlite"):
            in_process("llvmlite before", stripped, other)
        else:
            print("llvmlite: not installed")
    return 1 if size >= MOST_BYTES or seconds >= MOST_SECONDS else 0


if __name__ == "__main__":
    if sys.argv[1] == "--child":
        child(*sys.argv[2:])
        sys.exit(0)
    sys.exit(main())
