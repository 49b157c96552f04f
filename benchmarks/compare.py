#!/usr/bin/env python3
"""flashc beside torch's attention kernels, in one run on one machine.

usage: compare.py --bench build/release/bin/flashc-bench [--csv OUT.csv] [--markdown OUT.md] [--svg PREFIX]

Cell by cell the peers and flashc take turns, `--repeats` times, and each keeps its best: both see the same clocks and
heat. Times are taken as in peers.py (3 rounds of 12 back-to-back launches). The table gives each cell's TFLOP/s and
flashc's part of torch's FlashAttention-2; below it stand the geometric means and the lowest cell. Exits 1 where
flashc could not run a cell. --svg draws the two charts of chart.py. On a terminal, standard error ends in a line that
says how far it is.
"""
import argparse
import itertools
import math
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import chart
import peers

BACKENDS = {"fa2": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}


class Progress:
    """Notes on standard error and, where that is a terminal, a line below them with cells done and seconds left.

    The cursor waits at that line's start, so that what others print there (flashc-bench) overwrites it.
    """

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.shown = sys.stderr.isatty()
        self.draw()

    def draw(self):
        if self.shown:
            spent = time.monotonic() - self.start
            left = f", about {spent / self.done * (self.total - self.done):.0f} s left" if self.done else ""
            print(f"\x1b[K{self.done} of {self.total} cells{left}\r", end="", file=sys.stderr, flush=True)

    def note(self, text):
        print(("\x1b[K" if self.shown else "") + text, file=sys.stderr, flush=True)
        self.draw()

    def cell_done(self):
        self.done += 1
        self.draw()

    def clear(self):
        if self.shown:
            print("\x1b[K", end="", file=sys.stderr, flush=True)


class Flashc:
    """flashc-bench as a process that answers one cell at a time."""

    def __init__(self, path, arch, tiles):
        command = [path, "--stdin", f"--arch={arch}", f"--tiles={tiles}"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def cell(self, dtype, dim, length, causal):
        """[(impl, ms)], the milliseconds nan where it could not run."""
        self.process.stdin.write(f"{dtype} {dim} {length} {int(causal)}\n")
        self.process.stdin.flush()
        found = []
        for line in self.process.stdout:
            if line.strip() == "end":
                return found
            fields = line.strip().split(",")
            found.append((fields[0], float(fields[8])))
        sys.exit("flashc-bench ended early: look at its message above")


def torch_times(dtype, dim, length, causal, names, progress):
    """[(impl, ms)] of torch's backends on arrays of shape (batch, length, heads, dim)."""
    batch, heads = 16384 // length, 2048 // dim
    q, k, v = (torch.randn(batch, length, heads, dim, device="cuda", dtype=peers.DT[dtype]).transpose(1, 2)
               for _ in range(3))
    found = []
    for name in names:
        try:
            with torch.no_grad(), sdpa_kernel(BACKENDS[name]):
                ms = peers.time_ms(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
        except RuntimeError as error:  # a peer's refusal is a result
            progress.note(f"# {name} {dtype} d{dim} s{length}: {str(error)[:160]!r}")
            ms = math.nan
        found.append(("torch-" + name, ms))
    return found


def tflops(dim, length, causal, ms):
    # As flashc-bench and peers.py round the batch and the heads.
    batch, heads = max(16384 // length, 1), max(2048 // dim, 1)
    return 4 * batch * heads * dim * length**2 / (2 if causal else 1) / ms / 1e9


def geometric_mean(values):
    values = [value for value in values if not math.isnan(value)]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def measure(arguments):
    """{cell: {impl: best ms}}, in the order of the grid."""
    flashc = Flashc(arguments.bench, arguments.arch, arguments.tiles)
    names = [name for name in arguments.peers.split(",") if name]
    grid = list(itertools.product(arguments.dtypes.split(","), map(int, arguments.dims.split(",")), (False, True),
                                  map(int, arguments.seqs.split(","))))
    results, progress = {}, Progress(len(grid))
    for cell in grid:
        dtype, dim, causal, length = cell
        best = results.setdefault(cell, {})
        for _ in range(arguments.repeats):
            times = torch_times(dtype, dim, length, causal, names, progress)
            for impl, ms in times + flashc.cell(dtype, dim, length, causal):
                best[impl] = min((t for t in (best.get(impl, math.nan), ms) if t == t), default=math.nan)
        torch.cuda.empty_cache()
        shown = "  ".join(f"{impl} {tflops(dim, length, causal, ms):.0f}" for impl, ms in best.items())
        progress.cell_done()
        progress.note(f"# {dtype} d{dim} {'causal' if causal else 'full'} {length}: {shown}")
    progress.clear()
    flashc.process.stdin.close()
    return results


def csv_lines(results):
    yield chart.HEADER
    for (dtype, dim, causal, length), best in results.items():
        for impl, ms in best.items():
            yield (f"{impl},{dtype},fwd,{dim},{length},{16384 // length},{2048 // dim},{int(causal)},{ms:.4f},"
                   f"{tflops(dim, length, causal, ms):.1f},nan")


def reference(best, against):
    """Milliseconds of the peer that counts: one by name, or `best`, the fastest of those that ran."""
    if against != "best":
        return best.get(f"torch-{against}", math.nan)
    return min((ms for impl, ms in best.items() if not impl.startswith("flashc") and ms == ms), default=math.nan)


def markdown(results, title, against):
    """The table, then the means by (dtype, head dim, mask) and over all."""
    impls = list(dict.fromkeys(impl for best in results.values() for impl in best))
    ours = [impl for impl in impls if impl.startswith("flashc")]
    ratio = {(cell, impl): reference(best, against) / best[impl]
             for cell, best in results.items() for impl in ours if impl in best}
    lines = [title, "", "TFLOP/s, forward; the last columns are flashc's speed as a part of "
             + ("the fastest peer's." if against == "best" else f"torch-{against}'s."), ""]
    heads = ["type", "d", "mask", "length", *impls, *(f"{impl} / {against}" for impl in ours)]
    lines += ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for cell, best in results.items():
        dtype, dim, causal, length = cell
        row = [dtype, str(dim), "causal" if causal else "full", str(length)]
        row += [f"{tflops(dim, length, causal, best[impl]):.0f}" if impl in best else "-" for impl in impls]
        row += [f"{ratio.get((cell, impl), math.nan):.2f}" for impl in ours]
        lines.append("| " + " | ".join(row) + " |")
    lines += ["", f"| geometric mean of flashc / {against} | " + " | ".join(ours) + " | lowest cell |",
              "|" + " --- |" * (len(ours) + 2)]
    groups = list(dict.fromkeys(cell[:3] for cell in results))
    for group in groups + [None]:
        cells = [cell for cell in results if group is None or cell[:3] == group]
        name = "all" if group is None else f"{group[0]} d{group[1]} {'causal' if group[2] else 'full'}"
        means = [geometric_mean([ratio.get((cell, impl), math.nan) for cell in cells]) for impl in ours]
        lowest = min((value for (cell, impl), value in ratio.items() if cell in cells and value == value),
                     default=math.nan)
        lines.append(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means) + f" | {lowest:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="path of flashc-bench")
    parser.add_argument("--dims", default="64,128")
    parser.add_argument("--seqs", default="512,1024,2048,4096,8192,16384")
    parser.add_argument("--dtypes", default="fp16")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--tiles", default="auto", help="candidates of flashc-bench; each is a column")
    parser.add_argument("--peers", default="fa2,cudnn")
    parser.add_argument("--against", default="fa2", help="peer that the ratios are to, or best (fa2)")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--csv", help="file for the times")
    parser.add_argument("--markdown", help="file for the table")
    parser.add_argument("--svg", metavar="PREFIX", help="writes PREFIX-bars.svg and PREFIX-roofline.svg")
    chart.add_bounds(parser)
    arguments = parser.parse_args()
    gpu = torch.cuda.get_device_properties(0)
    title = f"{gpu.name}, torch {torch.__version__}, flashc {arguments.arch} PTX"
    bounds = None
    try:
        if arguments.svg:  # asked before the measurement, which takes minutes
            chart.check_prefix(arguments.svg)
            bounds = chart.find_bounds(arguments, title)
    except chart.Error as error:
        sys.exit(f"compare.py: error: {error}")
    results = measure(arguments)
    table = markdown(results, title, arguments.against)
    print(table)
    lines = [f"# {title}", *csv_lines(results)]
    if arguments.csv:
        with open(arguments.csv, "w") as out:
            out.write("\n".join(lines) + "\n")
    if arguments.markdown:
        with open(arguments.markdown, "w") as out:
            out.write(table)
    if arguments.svg:
        try:
            chart.draw(arguments.svg, title, chart.check_together(chart.parse("results", lines)[1]), bounds)
        except chart.Error as error:
            sys.exit(f"compare.py: error: {error}")
    broken = any(impl.startswith("flashc") and math.isnan(ms) for best in results.values() for impl, ms in best.items())
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
