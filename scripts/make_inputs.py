#!/usr/bin/env python3
"""Write Q, K and V of a small attention problem as float16 .npy files (layout: batch, length, heads, head dim).

usage: make_inputs.py FOLDER [--batch B] [--length N] [--heads H] [--kv-heads H] [--head-dim D] [--seed S]

Normally distributed, from a seed, with nothing but Python's own library.
"""

import argparse
import os
import random
import struct


def write_npy(path, shape, values):
    """NumPy's format 1.0: magic, version, header length, header padded to a multiple of 64 bytes, little-endian data."""
    header = f"{{'descr': '<f2', 'fortran_order': False, 'shape': {shape}, }}"
    padding = -(10 + len(header) + 1) % 64
    header += " " * padding + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1"))
        file.write(struct.pack(f"<{len(values)}e", *values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    for name, default in (("batch", 2), ("length", 1024), ("heads", 8), ("kv-heads", 2), ("head-dim", 64), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    rng = random.Random(options.seed)
    for name, heads in (("q", options.heads), ("k", options.kv_heads), ("v", options.kv_heads)):
        shape = (options.batch, options.length, heads, options.head_dim)
        count = options.batch * options.length * heads * options.head_dim
        write_npy(os.path.join(options.folder, f"{name}.npy"), shape, [rng.gauss(0, 1) for _ in range(count)])


if __name__ == "__main__":
    main()
