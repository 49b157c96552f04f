#!/usr/bin/env python3
"""Check that a library, or every program in a folder, needs shared libraries of glibc only, none newer than Debian 12's.

usage: check_binaries.py FOLDER_OR_LIBRARY
"""

import os
import re
import subprocess
import sys

GLIBC_LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
GLIBC_VERSION = (2, 36)  # Debian 12


def problems(program):
    dynamic = subprocess.run(["llvm-readelf", "-d", "-V", program], check=True, text=True, stdout=subprocess.PIPE).stdout
    for library in re.findall(r"Shared library: \[(.*?)\]", dynamic):
        if library not in GLIBC_LIBRARIES:
            yield f"{program}: needs {library}; link it statically (cmake/FlashcLLVM.cmake)"
    for major, minor in set(re.findall(r"GLIBC_(\d+)\.(\d+)", dynamic)):
        if (int(major), int(minor)) > GLIBC_VERSION:
            yield f"{program}: needs glibc {major}.{minor}, but the oldest that is promised is 2.36"


def main():
    folder = sys.argv[1]
    programs = [folder] if os.path.isfile(folder) else sorted(entry.path for entry in os.scandir(folder) if entry.is_file())
    found = [problem for program in programs for problem in problems(program)]
    for program in programs:
        print(f"{os.path.basename(program)}: {os.path.getsize(program) / 2**20:.1f} MiB")
    print("\n".join(found))
    return 1 if found or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
