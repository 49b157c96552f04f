"""Write a .npy file without NumPy: make_npy.py OUT DTYPE SHAPE [VALUES] [--fortran] [--seed N]

DTYPE is float16, float32, uint16 (bfloat16 bits), int32; SHAPE is like 2x100x4x64; VALUES is normal (default), a number, or a
comma-separated list.
"""

import argparse
import random
import struct

FORMATS = {"float16": ("<f2", "e"), "float32": ("<f4", "f"), "uint16": ("<u2", "H"), "int32": ("<i4", "i"), "float64": ("<f8", "d"), "bool": ("|b1", "B")}

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("dtype", choices=FORMATS)
parser.add_argument("shape")
parser.add_argument("values", nargs="?", default="normal")
parser.add_argument("--fortran", action="store_true")
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()

shape = tuple(int(n) for n in args.shape.split("x"))
count = 1
for n in shape:
    count *= n
rng = random.Random(args.seed)
if args.values == "normal":
    values = [rng.gauss(0, 1) for _ in range(count)]
else:
    listed = [float(x) for x in args.values.split(",")]
    values = listed * (count if len(listed) == 1 else 1)
descr, code = FORMATS[args.dtype]
if args.dtype == "uint16":
    values = [struct.unpack("<I", struct.pack("<f", x))[0] >> 16 for x in values]
elif code in "iB":
    values = [int(x) for x in values]
header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, args.fortran, shape)
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(args.out, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack("<%d%s" % (len(values), code), *values))
