#!/usr/bin/env python3
"""flashc beside other attention kernels, in one run on one machine.

usage: compare.py --bench build/release/bin/flashc-bench [--tables grid,mla,variants] [--results PREFIX] ...

Cell by cell the peers and flashc take turns, `--repeats` times, and each keeps its best: both see the same clocks and
heat. Times are taken as in peers.py (3 rounds of 12 back-to-back launches). The tables are

  grid      the FlashAttention papers' 36 cells (--dims, --seqs) beside --peers: torch's backends and Pallas
  backward  the same cells' gradients beside torch's backends, through autograd
  mla       head dims 192 and 128 (--mla-heads, --mla-seqs) beside torch's cuDNN
  variants  windows, ALiBi and soft-capped scores at d = 128 (--variant-seqs) beside torch's FlexAttention, and beside
            flashc's own plain kernel for each FLOP that the mask leaves
  variants-backward  the gradients of the same
  orders    gradients whose sums are in a fixed order beside those in any (--dims, --order-seqs)

Behind the grid and the backward comes a table of both together, the sums of their times.

--results PREFIX writes PREFIX-TABLE.csv and .md of each (PREFIX-together.md). --ratio-csv FILE[,FILE] adds a peer that is
not on this machine to the grid or the backward, by its ratio to cuDNN where both were timed, as a column and a second
geometric mean. --svg draws the two charts of chart.py. A peer that cannot run a cell becomes a note and a dash. Exits 1
where flashc could not run one. On a terminal, standard error ends in a line that says how far it is.
"""
import argparse
import math
import sys
import time

import cells
import chart
import contenders
import tables

TABLES = ("grid", "backward", "mla", "variants", "variants-backward", "orders")
TOGETHER = "together"  # the table of the first two's sums


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


def plan(arguments):
    """{table: [(cell, plain cell or None)]}."""
    dtypes = arguments.dtypes.split(",")
    chosen = {}
    for name in arguments.tables.split(","):
        if name in ("grid", "backward"):
            chosen[name] = [(cell, None) for cell in cells.grid(dtypes, numbers(arguments.dims), numbers(arguments.seqs),
                                                                name == "backward")]
        elif name == "mla":
            chosen[name] = [(cell, None) for cell in
                            cells.mla(dtypes, numbers(arguments.mla_heads), numbers(arguments.mla_seqs))]
        elif name in ("variants", "variants-backward"):
            chosen[name] = cells.variants(dtypes, numbers(arguments.variant_seqs), name != "variants")
        elif name == "orders":
            chosen[name] = [(cell, None) for cell in
                            cells.grid(dtypes, numbers(arguments.dims), numbers(arguments.order_seqs), backward=True)]
        else:
            raise tables.Error(f"--tables has '{name}', but there are {', '.join(TABLES)}")
    return chosen


def numbers(text):
    return [int(part) for part in text.split(",")]


def find_peers(arguments, planned, note):
    """{table: [peer]}."""
    names = [name for name in arguments.peers.split(",") if name]
    found = {}
    for table, pairs in planned.items():
        if table in ("grid", "backward"):
            found[table] = [contenders.Sdpa(name, note) for name in names if name in contenders.SDPA]
            if "pallas" in names and table == "grid":
                found[table].append(contenders.Pallas(note, [cell for cell, _ in pairs]))
        elif table == "mla":
            found[table] = [contenders.Sdpa("cudnn", note)] if "cudnn" in names else []
        elif table == "orders":
            found[table] = [contenders.Flashc(arguments.bench, arguments.arch, arguments.tiles,
                                              ["--backward", "--deterministic"])]
        else:
            found[table] = [contenders.Flex(note, arguments.flex_mode)] if names else []
    return found


def free_memory():
    """What a cell's arrays took of the GPU goes back: others need it too."""
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def measure(pairs, peers, flashc, repeats, progress):
    """[tables.Result], in the order of the cells."""
    results = []
    for cell, plain in pairs:
        result = tables.Result(cell, {}, plain)
        results.append(result)
        for _ in range(repeats):
            for peer in peers:
                tables.keep_best(result.best, peer.times(cell))
            tables.keep_best(result.best, flashc.times(cell))
            if plain:
                tables.keep_best(result.plain_best, flashc.times(plain))
        free_memory()
        shown = [f"{impl} {cell.tflops(ms):.0f}" for impl, ms in result.best.items()]
        shown += [f"plain {impl} {plain.tflops(ms):.0f}" for impl, ms in result.plain_best.items()]
        progress.cell_done()
        progress.note(f"# {cell.name}: " + "  ".join(shown))
    return results


def write(path, text):
    with open(path, "w") as out:
        out.write(text)


def report(name, results, title, arguments, ratios):
    """Print and write one table; its CSV lines."""
    if name.startswith("variants"):
        text = tables.of_variants(results, title)
    elif name == "orders":
        text = tables.of_orders(results, title)
    else:
        text = tables.against_peers(results, title, "best" if name == "mla" else arguments.against,
                                    None if name == "mla" else ratios)
    print(text, flush=True)
    if name == TOGETHER:
        if arguments.results:
            write(f"{arguments.results}-{name}.md", text)
        return []
    lines = [f"# {title}", *tables.csv_lines(results)]
    if arguments.results:
        write(f"{arguments.results}-{name}.csv", "\n".join(lines) + "\n")
        write(f"{arguments.results}-{name}.md", text)
    if arguments.csv:
        write(arguments.csv, "\n".join(lines) + "\n")
    if arguments.markdown:
        write(arguments.markdown, text)
    return lines


def find_title(arguments):
    flashc = f"flashc {arguments.arch} PTX"
    if not arguments.peers:
        return flashc
    import torch
    return f"{torch.cuda.get_device_properties(0).name}, torch {torch.__version__}, {flashc}"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="path of flashc-bench")
    parser.add_argument("--tables", default="grid", help=f"of {', '.join(TABLES)} (grid)")
    parser.add_argument("--dims", default="64,128")
    parser.add_argument("--seqs", default="512,1024,2048,4096,8192,16384")
    parser.add_argument("--mla-heads", default="16,128")
    parser.add_argument("--mla-seqs", default="4096,8192")
    parser.add_argument("--variant-seqs", default="8192,16384")
    parser.add_argument("--order-seqs", default="8192")
    parser.add_argument("--dtypes", default="fp16")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--tiles", default="auto", help="candidates of flashc-bench; each is a column")
    parser.add_argument("--peers", default="fa2,cudnn", help="of fa2, cudnn, efficient, pallas; empty: flashc alone")
    parser.add_argument("--against", default="fa2", help="peer that the grid's ratios are to, or best (fa2)")
    parser.add_argument("--ratio-csv", metavar="FILE[,FILE]",
                        help="times of torch-cudnn and of one peer that is not here")
    parser.add_argument("--flex-mode", metavar="MODE", help="mode of torch.compile for FlexAttention, such as "
                        "max-autotune-no-cudagraphs, which takes longer")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--results", metavar="PREFIX", help="writes PREFIX-TABLE.csv and PREFIX-TABLE.md")
    parser.add_argument("--csv", help="file for the times of a single table")
    parser.add_argument("--markdown", help="file for a single table")
    parser.add_argument("--svg", metavar="PREFIX", help="writes PREFIX-bars.svg and PREFIX-roofline.svg of the grid")
    chart.add_bounds(parser)
    return parser.parse_args()


def check(arguments):
    """What is wrong before minutes are spent; the plan and the ratios."""
    planned = plan(arguments)
    unknown = [name for name in arguments.peers.split(",") if name and name not in (*contenders.SDPA, "pallas")]
    if unknown:
        raise tables.Error(f"--peers has '{unknown[0]}', but there are {', '.join(contenders.SDPA)} and pallas")
    for flag in ("csv", "markdown"):
        if getattr(arguments, flag) and len(planned) > 1:
            raise tables.Error(f"--{flag} is one file, but --tables has {len(planned)} tables; give --results PREFIX")
    if arguments.svg and "grid" not in planned:
        raise tables.Error("--svg draws the grid, but --tables has none; add it or leave the flag out")
    return planned, tables.Ratios(arguments.ratio_csv) if arguments.ratio_csv else None


def run(arguments):
    planned, ratios = check(arguments)
    title = find_title(arguments)
    bounds = None
    if arguments.svg:
        chart.check_prefix(arguments.svg)
        bounds = chart.find_bounds(arguments, title)
    progress = Progress(sum(map(len, planned.values())))
    peers = find_peers(arguments, planned, progress.note)
    broken, measured = False, {}
    for name, pairs in planned.items():
        flashc = contenders.Flashc(arguments.bench, arguments.arch, arguments.tiles,
                                   ["--backward"] if pairs[0][0].backward else [])
        results = measured[name] = measure(pairs, peers[name], flashc, arguments.repeats, progress)
        progress.clear()
        for contender in (*peers[name], flashc):
            contender.close()
        lines = report(name, results, title, arguments, ratios)
        if arguments.svg and name == "grid":
            chart.draw(arguments.svg, title, chart.check_together(chart.parse("results", lines)[1]), bounds)
        broken |= any(tables.is_ours(impl) and math.isnan(ms) for result in results
                      for impl, ms in [*result.best.items(), *result.plain_best.items()])
    sums = tables.together(measured.get("grid", []), measured.get("backward", []))
    if sums:
        report(TOGETHER, sums, title, arguments, ratios)
    return broken


def main():
    arguments = parse_arguments()
    try:
        return 1 if run(arguments) else 0
    except (chart.Error, tables.Error) as error:
        sys.exit(f"compare.py: error: {error}")


if __name__ == "__main__":
    sys.exit(main())
