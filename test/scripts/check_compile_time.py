#!/usr/bin/env python3
"""One kernel to PTX, in a process of its own, takes less than a quarter of a second.

usage: check_compile_time.py FLASHC

Processor time is what is judged, the best of five runs, since the clock on the wall also counts whatever else the
machine is doing; both are printed.
"""

import os
import subprocess
import sys
import time

LIMIT_SECONDS = 0.25
COMMAND = ["--arch=sm_80", "--head-dim=128", "--dtype=f16", "--heads=32", "--mask=causal", "--emit=ptx", "-o", os.devnull]


def main():
    best_wall = best_processor = float("inf")
    for _ in range(5):
        before, start = os.times(), time.monotonic()
        subprocess.run([sys.argv[1], *COMMAND], check=True)
        after = os.times()
        best_wall = min(best_wall, time.monotonic() - start)
        best_processor = min(best_processor, after.children_user - before.children_user
                             + after.children_system - before.children_system)
    print(f"flashc to PTX: {best_processor:.3f} s of processor time, {best_wall:.3f} s on the clock, of at most {LIMIT_SECONDS} s")
    return 1 if best_processor > LIMIT_SECONDS else 0


if __name__ == "__main__":
    sys.exit(main())
