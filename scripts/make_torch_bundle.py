#!/usr/bin/env python3
"""Collect what a machine with a GPU and PyTorch needs to run flashc in PyTorch, and the examples of the API, into one
folder with run-torch.sh.

usage: make_torch_bundle.py OUTPUT --build BUILD_DIR --source SOURCE_ROOT --cmake CMAKE --strip LLVM_STRIP

libflashc.so is stripped and packed (gzip, which every Python unpacks). Fails when the folder is over 60 MB.
"""

import argparse
import gzip
import os
import shutil
import subprocess
import sys

LIMIT = 60 * 1000 * 1000
HERE = "$ORIGIN/../lib"


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def copy(source, output, *names):
    for name in names:
        path = os.path.join(source, name)
        if os.path.isdir(path):
            shutil.copytree(path, os.path.join(output, name), ignore=shutil.ignore_patterns("__pycache__"))
        else:
            os.makedirs(output, exist_ok=True)
            shutil.copy(path, output)


def build_examples(options, prefix):
    """examples/api on the installed library, as a user builds them; they find it beside them."""
    folder = os.path.join(options.build, "bundle-torch-examples")
    run(options.cmake, "-G", "Ninja", "-S", os.path.join(options.source, "examples/api"), "-B", folder,
        "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
        f"-DCMAKE_INSTALL_RPATH={HERE}")
    run(options.cmake, "--build", folder)
    for name in ("attention", "attention-c", "decode", "embed"):
        if os.path.exists(os.path.join(folder, name)):
            yield os.path.join(folder, name)
        else:
            print(f"left out: {name} (no cuda.h here)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    for name in ("build", "source", "cmake", "strip"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    output, torch = options.output, os.path.join(options.source, "integrations/torch")
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(os.path.join(output, "lib"))
    os.makedirs(os.path.join(output, "examples"))

    prefix = os.path.join(options.build, "bundle-torch-prefix")
    run(options.cmake, "--install", options.build, "--prefix", prefix, "--component", "Runtime")
    library = os.path.join(output, "lib", "libflashc.so.0")
    run(options.strip, "-o", library, os.path.join(prefix, "lib", "libflashc.so"))
    with open(library, "rb") as plain, gzip.open(library + ".gz", "wb", 9) as packed:
        shutil.copyfileobj(plain, packed)
    print(f"libflashc.so: {os.path.getsize(library) / 1e6:.1f} MB, packed {os.path.getsize(library + '.gz') / 1e6:.1f} MB")
    os.remove(library)
    copy(os.path.join(prefix, "include"), os.path.join(output, "include"), "flashc")
    for program in build_examples(options, prefix):
        run(options.strip, "-o", os.path.join(output, "examples", os.path.basename(program)), program)

    copy(os.path.join(options.build, "integrations/torch"), output, "python")
    extension = os.path.join(output, "python/flashc_torch/libflashc_torch.so")
    run(options.strip, extension)
    copy(torch, os.path.join(output, "torch"), "tests", "examples",
         *(name for name in os.listdir(torch) if name.endswith((".cpp", ".h", ".sh", ".txt"))))
    copy(os.path.join(options.source, "benchmarks"), os.path.join(output, "benchmarks"), "torch_bias.py", "torch_gpt2.py",
         "torch_latency.py", "torch_train.py")
    shutil.copy(os.path.join(options.source, "scripts/torch-run.sh"), os.path.join(output, "run-torch.sh"))
    shutil.copy(os.path.join(options.source, "LICENSE"), output)

    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(output) for name in names)
    print(f"{output}: {size / 1e6:.1f} MB of at most {LIMIT / 1e6:.0f} MB")
    return 0 if size <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
