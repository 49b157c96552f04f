#!/usr/bin/env python3
"""Print type, shape and the first values of float16 or float32 .npy files.

usage: show_npy.py FILE...
"""

import ast
import struct
import sys

FORMATS = {"<f2": "e", "<f4": "f"}


def main():
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            header_length = struct.unpack("<H", file.read(10)[8:])[0]
            header = ast.literal_eval(file.read(header_length).decode("latin1"))
            code = FORMATS[header["descr"]]
            data = file.read(4 * struct.calcsize(code))
        values = struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)
        print(f"{path}: {header['descr']} {header['shape']}: {' '.join(f'{value:.5f}' for value in values)} ...")


if __name__ == "__main__":
    main()
