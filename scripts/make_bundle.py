#!/usr/bin/env python3
"""Collect what a machine with a GPU needs into one folder: programs, benchmark scripts and run.sh.

usage: make_bundle.py OUTPUT --strip LLVM_STRIP --source SOURCE_ROOT PROGRAM...

The programs are stripped and packed one by one (xz with the filter for x86 code, about a fifth of their size), since
each holds the compiler; run.sh unpacks them. Fails when the folder is over 40 MB.
"""

import argparse
import concurrent.futures
import lzma
import os
import shutil
import subprocess
import sys
import tempfile

LIMIT = 40 * 1000 * 1000
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 64 * 2**20}]


def pack(program, output, strip):
    """Returns (name, bytes when unpacked, bytes packed)."""
    name = os.path.basename(program)
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, name)
        subprocess.run([strip, "-o", stripped, program], check=True)
        data = open(stripped, "rb").read()
    packed = lzma.compress(data, format=lzma.FORMAT_XZ, filters=FILTERS)
    with open(os.path.join(output, "packed", name + ".xz"), "wb") as file:
        file.write(packed)
    return name, len(data), len(packed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--strip", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()

    shutil.rmtree(options.output, ignore_errors=True)
    os.makedirs(os.path.join(options.output, "packed"))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for name, plain, packed in pool.map(lambda p: pack(p, options.output, options.strip), options.programs):
            print(f"{name}: {plain / 1e6:.1f} MB, packed {packed / 1e6:.1f} MB")
    shutil.copytree(os.path.join(options.source, "benchmarks"), os.path.join(options.output, "benchmarks"),
                    ignore=shutil.ignore_patterns("results", "__pycache__"))
    shutil.copy(os.path.join(options.source, "scripts", "bundle-run.sh"), os.path.join(options.output, "run.sh"))
    shutil.copy(os.path.join(options.source, "LICENSE"), options.output)

    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(options.output) for name in names)
    print(f"{options.output}: {size / 1e6:.1f} MB of at most {LIMIT / 1e6:.0f} MB")
    return 0 if size <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
