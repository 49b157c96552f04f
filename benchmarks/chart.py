#!/usr/bin/env python3
"""Draw the CSV files of compare.py: a bar chart and a roofline, as SVG. Needs Python 3.11 alone.

usage: chart.py CSV... --svg PREFIX [--peak-tflops TFLOP/s] [--bandwidth TB/s]

PREFIX-bars.svg has a panel for each (type, head dim, mask), a group a length and a bar an implementation.
PREFIX-roofline.svg has a panel for each (type, head dim): TFLOP/s over flops a byte, below the GPU's two bounds.
Flops are those of compare.py's tflops(): 4 * batch * heads * head dim * length^2, half of it with causal. Bytes are
those of Q, K, V and O moved once, 2 an element, and 4 of LSE a row. Both files are written aside and renamed.
"""
import argparse
import collections
import csv
import dataclasses
import math
import os
import re
import sys
from xml.sax.saxutils import escape

HEADER = "impl,dtype,dir,hdim,seqlen,batch,heads,causal,ms,tflops,first_call_s"
# Files of compare.py and flashc-bench have more columns; rows that these make another problem are not drawn.
MORE = "hdim_v,kv_heads,mask,score"
# Dense f16 and bf16 (the sheet's 1,979 counts sparsity), SXM; bytes a second of HBM3e.
H200_PEAK_TFLOPS, H200_BANDWIDTH = 989.0, 4.8
H200_SOURCE = "NVIDIA H200 data sheet"

# (on light, on dark), in the order of the implementations' first rows.
COLOURS = [("#8c959f", "#8b949e"), ("#d9730d", "#f0883e"), ("#0969da", "#58a6ff"), ("#1a7f37", "#3fb950"),
           ("#8250df", "#bc8cff"), ("#bf3989", "#f778ba"), ("#9a6700", "#d29922"), ("#0f7b7b", "#39c5cf")]
DIGIT = 6.5  # px of a digit of a label (10 px), the widest of the usual fonts
LETTER = 7.2  # px of a letter of other text (12 px), likewise
MARGIN, PANEL_GAP, AXIS = 16, 28, 46  # px; AXIS is what the numbers left of a panel take


class Error(Exception):
    """Where, what was wrong with both values, what to do."""


@dataclasses.dataclass(frozen=True)
class Row:
    impl: str
    dtype: str
    dim: int
    length: int
    batch: int
    heads: int
    causal: bool
    ms: float  # nan where it could not run, and so is tflops
    tflops: float

    @property
    def mask(self):
        return "causal" if self.causal else "full"

    @property
    def flops(self):
        return 4 * self.batch * self.heads * self.dim * self.length ** 2 / (2 if self.causal else 1)

    @property
    def intensity(self):
        """Flops a byte, with each array moved once."""
        lines = self.batch * self.heads * self.length
        return self.flops / (2 * lines * self.dim * 4 + 4 * lines)

    @property
    def label(self):
        """Whole TFLOP/s, from ms where it agrees with tflops: that is rounded already, and twice is too much."""
        exact = self.flops / self.ms / 1e9
        rounding = 0.05 + exact * 0.00005 / self.ms  # half the last digit of tflops and of ms
        return number(exact if abs(exact - self.tflops) <= rounding else self.tflops)

    def __str__(self):
        return f"{self.impl}, {self.dtype} d{self.dim} {self.mask} {self.length}"


@dataclasses.dataclass(frozen=True)
class Bounds:
    peak: float  # TFLOP/s
    bandwidth: float  # TB/s
    sources: tuple  # of the two, in words


# Reading


def natural(name, text):
    if not re.fullmatch("[1-9][0-9]{0,9}", text, re.ASCII):
        raise Error(f"{name} is '{text}', but a whole number from 1 is needed")
    return int(text)


def positive(name, text):
    """A finite number above 0, or nan."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not (math.isnan(value) or 0 < value < 1e9):
        raise Error(f"{name} is '{text}', but a number above 0 (or nan, where it could not run) is needed")
    return value


def choice(name, text, *allowed):
    if text not in allowed:
        raise Error(f"{name} is '{text}', but only {' and '.join(allowed)} can be drawn")
    return text


def parse_row(line, header=HEADER):
    fields = next(csv.reader([line]))
    if len(fields) != len(header.split(",")):
        raise Error(f"{len(fields)} fields, but the header has {len(header.split(','))}")
    impl, dtype, direction, dim, length, batch, heads, causal, ms, tflops, first_call, *more = fields
    plain = [dim, heads, "causal" if causal == "1" else "none", "none"]
    for name, value, wanted in zip(MORE.split(","), more, plain):
        if value != wanted:
            raise Error(f"{name} is '{value}', but only '{wanted}' of this row's other columns can be drawn")
    if not impl or not impl.isprintable():
        raise Error(f"impl is {impl!r}, but a printable name is needed")
    choice("dir", direction, "fwd")
    positive("first_call_s", first_call)
    row = Row(impl, choice("dtype", dtype, "fp16", "bf16"), natural("hdim", dim), natural("seqlen", length),
              natural("batch", batch), natural("heads", heads), choice("causal", causal, "0", "1") == "1",
              positive("ms", ms), positive("tflops", tflops))
    if math.isnan(row.ms) != math.isnan(row.tflops):
        raise Error(f"ms is {ms}, but tflops is {tflops}; both or none are nan")
    return row


def parse(name, lines):
    """[(place, Row)] and the first comment ('' where there is none) of a file's lines."""
    title, rows, header = "", [], ""
    for number, line in enumerate(lines, 1):
        line, place = line.strip(), f"{name}:{number}"
        if line.startswith("#"):
            title = title or "".join(c for c in line[1:] if c.isprintable()).strip()
        elif line and not header:
            if line not in (HEADER, f"{HEADER},{MORE}"):
                raise Error(f"{place}: the header is '{line[:60]}', but '{HEADER}' is needed; give a CSV of compare.py")
            header = line
        elif line:
            try:
                rows.append((place, parse_row(line, header)))
            except Error as error:
                raise Error(f"{place}: {error}; mend or remove this line") from None
    if not any(row.tflops == row.tflops for _, row in rows):
        raise Error(f"{name}:{len(lines)}: the file ends and no row has a time; give a CSV of compare.py with one")
    return title, rows


def check_together(placed):
    """Each implementation once a cell, and all of them on the same batch and heads."""
    seen, shapes = {}, {}
    for place, row in placed:
        cell = (row.dtype, row.dim, row.causal, row.length)
        first = seen.setdefault((row.impl, cell), place)
        if first != place:
            raise Error(f"{place}: {row} stands at {first} already; remove one of the two")
        where, other = shapes.setdefault(cell, (place, row))
        if (row.batch, row.heads) != (other.batch, other.heads):
            raise Error(f"{place}: batch and heads are {row.batch} and {row.heads}, but {other.batch} and "
                        f"{other.heads} for the same cell at {where}; compare equal problems only")
    impls = list(dict.fromkeys(row.impl for _, row in placed))
    if len(impls) > len(COLOURS):
        extra = impls[len(COLOURS)]
        place = next(place for place, row in placed if row.impl == extra)
        raise Error(f"{place}: '{extra}' is implementation {len(COLOURS) + 1}, but {len(COLOURS)} colours can be told "
                    "apart; remove the rows of some")
    return [row for _, row in placed]


def read(paths):
    """The title and the rows of all files."""
    titles, placed = [], []
    for path in paths:
        try:
            with open(path, "rb") as file:
                raw = file.read().splitlines()
        except OSError as error:
            raise Error(f"{path}: cannot be read: {error.strerror}; give a CSV of compare.py") from None
        lines = []
        for number, line in enumerate(raw, 1):
            try:
                lines.append(line.decode())
            except UnicodeDecodeError as error:
                raise Error(f"{path}:{number}: byte {error.start + 1} is not UTF-8; give a CSV of compare.py") from None
        title, rows = parse(path, lines)
        titles.append(title)
        placed += rows
    return " | ".join(dict.fromkeys(filter(None, titles))), check_together(placed)


# Drawing


def number(value):
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def text(x, y, what, css="", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}"{more}>{escape(what)}</text>'


def line(x1, y1, x2, y2, css):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{css}"/>'


def style():
    """Its own background and dark ink; both change where the viewer says that it is dark."""
    def rules(ink, soft, grid, back, which):
        colours = "".join(f".c{i}{{fill:{pair[which]};stroke:{pair[which]}}}" for i, pair in enumerate(COLOURS))
        return (f"text{{fill:{ink}}}.soft{{fill:{soft}}}.grid{{stroke:{grid}}}.axis{{stroke:{soft}}}"
                f".roof{{stroke:{ink}}}.ink{{fill:{ink};stroke:{ink}}}"
                f".back{{fill:{back}}}{colours}.path{{fill:none}}.hollow{{fill:{back}}}")
    return ("<style>text{font:12px system-ui,'Segoe UI','DejaVu Sans',sans-serif}.small{font-size:10px}"
            ".head{font-weight:bold}.mid{text-anchor:middle}.end{text-anchor:end}.bar{stroke:none}"
            ".roof{fill:none;stroke-width:2}.path{stroke-width:1.2;opacity:.6}.dot{stroke-width:1.6}"
            + rules("#1f2328", "#59636e", "#d8dee4", "#ffffff", 0) + ".bar{stroke:none}"
            + "@media (prefers-color-scheme:dark){" + rules("#e6edf3", "#9198a1", "#30363d", "#0d1117", 1)
            + ".bar{stroke:none}}</style>")


def wrapped(words, width):
    """The words of a text in lines of at most `width` px."""
    lines = [""]
    for word in words.split():
        if lines[-1] and LETTER * (len(lines[-1]) + 1 + len(word)) > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def legend(entries, width, top):
    """Elements and height of (css class, name) keys, in as many lines as they need."""
    parts, x, y = [], MARGIN, top
    for css, name in entries:
        if x > MARGIN and x + 16 + LETTER * len(name) > width - MARGIN:
            x, y = MARGIN, y + 20
        parts.append(f'<circle cx="{x + 5}" cy="{y + 6}" r="5" class="dot key {css}"/>' + text(x + 16, y + 10, name))
        x += 16 + math.ceil(LETTER * len(name)) + 20
    return parts, y + 20 - top


def document(title, heading, entries, panels, columns, panel_size, notes):
    """The whole SVG. `panels` are functions of a panel's left and top that give its elements."""
    title = title if len(title) <= 110 else title[:109] + "…"
    columns = min(columns, len(panels))
    width = max(columns * (panel_size[0] + PANEL_GAP) - PANEL_GAP + 2 * MARGIN, 500)
    parts, y = [], MARGIN
    for css, words in (("head", heading), ("soft", title)):
        for row in wrapped(words, width - 2 * MARGIN):
            parts.append(text(MARGIN, y + 12, row, css))
            y += 18
    keys, height = legend(entries, width, y + 4)
    y += height + 12
    parts += keys
    for index, panel in enumerate(panels):
        left = MARGIN + index % columns * (panel_size[0] + PANEL_GAP)
        parts += ["<g>"] + panel(left, y + index // columns * (panel_size[1] + PANEL_GAP)) + ["</g>"]
    y += math.ceil(len(panels) / columns) * (panel_size[1] + PANEL_GAP)
    for row in (row for note in notes for row in wrapped(note, width - 2 * MARGIN)):
        parts.append(text(MARGIN, y, row, "soft"))
        y += 17
    size = f'width="{width:.0f}" height="{y:.0f}" viewBox="0 0 {width:.0f} {y:.0f}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
                      f"<title>{escape(heading)} {escape(title)}</title>", style(),
                      '<rect width="100%" height="100%" class="back"/>', *parts, "</svg>"]) + "\n"


def grouped(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def nice_step(top):
    """1, 2 or 5 times a power of ten, of which 2 to 5 fit below `top`."""
    unit = 10.0 ** math.floor(math.log10(top / 5))
    return min(unit * m for m in (1, 2, 5, 10) if unit * m >= top / 5.0001)


def bars(title, rows):
    """The bar chart; all panels have one scale."""
    impls = list(dict.fromkeys(row.impl for row in rows))
    groups = grouped(rows, lambda row: (row.dtype, row.dim, row.mask))
    lengths = sorted({row.length for row in rows})
    top = max(row.tflops for row in rows if row.tflops == row.tflops)
    step = nice_step(top)
    slot = max(20.0, DIGIT * max(len(row.label) for row in rows) + 2)
    group = max(slot * len(impls) + 14, DIGIT * len(str(lengths[-1])) + 8)
    width, height = AXIS + group * len(lengths), 190
    base = lambda y: y + 24 + height
    scale = (height - 16) / top

    def bar(row, left, y):
        colour = impls.index(row.impl)
        x = left + AXIS + lengths.index(row.length) * group + (group - slot * len(impls)) / 2 + colour * slot
        if math.isnan(row.tflops):
            return text(x + slot / 2, base(y) - 4, "–", "small mid absent")
        high = row.tflops * scale
        return (f'<rect x="{x + 1:.1f}" y="{base(y) - high:.1f}" width="{slot - 2:.1f}" height="{high:.1f}" '
                f'class="bar c{colour}"><title>{escape(str(row))}: {row.tflops} TFLOP/s, {row.ms} ms</title></rect>'
                + text(x + slot / 2, base(y) - high - 3, row.label, "small mid"))

    def panel(key, left, y):
        parts = [text(left + AXIS, y + 10, f"{key[0]}, head dim {key[1]}, {key[2]}", "head panel")]
        for tick in range(math.floor(top / step) + 1):
            at = base(y) - tick * step * scale
            parts += [line(left + AXIS, at, left + width, at, "grid" if tick else "axis"),
                      text(left + AXIS - 6, at + 4, f"{tick * step:g}", "small soft end")]
        parts += [text(left + AXIS + (i + .5) * group, base(y) + 14, str(length), "small soft mid")
                  for i, length in enumerate(lengths)]
        return parts + [bar(row, left, y) for row in groups[key]]

    # Full and causal stand beside each other.
    keys = sorted(groups, key=lambda key: (*key[:2], key[2] == "causal"))
    panels = [lambda left, y, key=key: panel(key, left, y) for key in keys]
    columns = 2 if len({key[2] for key in groups}) == 2 and len(groups) == 2 * len({key[:2] for key in groups}) else 1
    absent = ["– could not run."] if any(math.isnan(row.tflops) for row in rows) else []
    return document(title, "Attention forward, TFLOP/s by length (higher is better)",
                    [(f"c{i}", impl) for i, impl in enumerate(impls)], panels, columns,
                    (width, 24 + height + 18), absent)


def log_ticks(low, high):
    """1, 2 and 5 times powers of ten within two bounds, or the powers alone where the way is long."""
    steps = (1, 2, 5) if high / low < 1e3 else (1,)
    decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [m * 10.0 ** d for d in decades for m in steps if low <= m * 10.0 ** d <= high]


def roofline(title, rows, bounds):
    """TFLOP/s over flops a byte on logarithmic scales, the same in all panels."""
    impls = list(dict.fromkeys(row.impl for row in rows))
    rows = [row for row in rows if row.tflops == row.tflops]
    ridge = bounds.peak / bounds.bandwidth
    intensities, speeds = [row.intensity for row in rows], [row.tflops for row in rows] + [bounds.peak]
    low = min(ridge / 4, min(intensities) / 1.3), min(speeds) / 1.5
    high = max(ridge * 4, max(intensities) * 1.3), max(speeds) * 1.3
    plot, height = 330, 270
    px = lambda value: math.log(value / low[0]) / math.log(high[0] / low[0]) * plot
    py = lambda value: math.log(value / low[1]) / math.log(high[1] / low[1]) * height

    def roof(x, bottom):
        start = max(low[0], low[1] / bounds.bandwidth)
        points = [(start, start * bounds.bandwidth), (ridge, bounds.peak), (high[0], bounds.peak)]
        path = " ".join(f"{x + px(a):.1f},{bottom - py(b):.1f}" for a, b in points)
        rise, run = py(bounds.peak) - py(points[0][1]), px(ridge) - px(start)
        middle = (x + px(start) + run / 2, bottom - py(points[0][1]) - rise / 2)
        degrees = -math.degrees(math.atan2(rise, run))
        turn = f' transform="rotate({degrees:.1f} {middle[0]:.1f} {middle[1]:.1f}) translate(0 -6)"'
        return [f'<polyline points="{path}" class="roof"/>',
                text(*middle, f"{bounds.bandwidth:g} TB/s", "small mid", turn),
                text(x + plot - 4, bottom - py(bounds.peak) - 6, f"{bounds.peak:g} TFLOP/s", "small end")]

    def series(own, x, bottom):
        css = f"c{impls.index(own[0].impl)}"
        places = [(x + px(row.intensity), bottom - py(row.tflops), row)
                  for row in sorted(own, key=lambda row: row.length)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b, _ in places)
        hollow = " hollow" if own[0].causal else ""
        return [f'<polyline points="{path}" class="{css} path"/>'] + [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" class="dot point {css}{hollow}"><title>{escape(str(row))}: '
            f"{row.tflops} TFLOP/s at {row.intensity:.1f} flops a byte</title></circle>" for a, b, row in places]

    def panel(key, own, left, y):
        x, bottom = left + AXIS, y + 24 + height
        parts = [text(x, y + 10, f"{key[0]}, head dim {key[1]}", "head panel")]
        for tick in log_ticks(low[1], high[1]):
            at = bottom - py(tick)
            parts += [line(x, at, x + plot, at, "grid"), text(x - 6, at + 4, f"{tick:g}", "small soft end")]
        for tick in log_ticks(low[0], high[0]):
            at = x + px(tick)
            parts += [line(at, bottom, at, bottom - height, "grid"),
                      text(at, bottom + 14, f"{tick:g}", "small soft mid")]
        parts += [line(x, bottom, x + plot, bottom, "axis"), line(x, bottom, x, bottom - height, "axis"),
                  text(x + plot / 2, bottom + 29, "flops a byte", "small soft mid"), *roof(x, bottom)]
        return parts + [part for one in grouped(own, lambda row: (row.impl, row.causal)).values()
                        for part in series(one, x, bottom)]

    groups = grouped(rows, lambda row: (row.dtype, row.dim))
    panels = [lambda left, y, key=key: panel(key, groups[key], left, y) for key in sorted(groups)]
    lengths = [row.length for row in rows]
    entries = [(f"c{i}", impl) for i, impl in enumerate(impls)]
    entries += [("ink", "filled: full"), ("ink hollow", "hollow: causal")]
    notes = [f"Peak: {bounds.peak:g} TFLOP/s dense ({bounds.sources[0]}).",
             f"Bandwidth: {bounds.bandwidth:g} TB/s ({bounds.sources[1]}).",
             f"Lines run over length, {min(lengths)} to {max(lengths)}. Bytes: Q, K, V, O and LSE moved once."]
    columns = min(3, len({key[1] for key in groups}))
    return document(title, "Attention forward, TFLOP/s over flops a byte", entries, panels, columns,
                    (AXIS + plot, 24 + height + 34), notes)


# Writing and flags


def add_bounds(parser):
    def above_zero(value):
        if not 0 < float(value) < 1e9:
            raise ValueError
        return float(value)
    above_zero.__name__ = "number above 0"
    parser.add_argument("--peak-tflops", type=above_zero, metavar="N",
                        help=f"the GPU's dense TFLOP/s (H200: {H200_PEAK_TFLOPS:g}, {H200_SOURCE})")
    parser.add_argument("--bandwidth", type=above_zero, metavar="N",
                        help=f"the GPU's memory bandwidth in TB/s (H200: {H200_BANDWIDTH:g}, {H200_SOURCE})")


def find_bounds(arguments, title):
    """What the flags say, else an H200's, unless the title names another GPU."""
    other = title.startswith("NVIDIA ") and not re.match(r"NVIDIA H200\b(?! NVL)", title)
    if other and not (arguments.peak_tflops and arguments.bandwidth):
        raise Error(f"the times are of '{title.split(',')[0]}', but the bounds known are those of an H200 (SXM); "
                    "give --peak-tflops and --bandwidth")
    source = lambda flag, given: f"by --{flag}" if given else H200_SOURCE
    return Bounds(arguments.peak_tflops or H200_PEAK_TFLOPS, arguments.bandwidth or H200_BANDWIDTH,
                  (source("peak-tflops", arguments.peak_tflops), source("bandwidth", arguments.bandwidth)))


def check_prefix(prefix):
    folder = os.path.dirname(prefix) or "."
    if not os.path.isdir(folder):
        raise Error(f"--svg is '{prefix}', but '{folder}' is not a folder; make it first")


def write(contents):
    """All of {path: text} or, where one cannot be written, none."""
    aside = {path: f"{path}.{os.getpid()}.tmp" for path in contents}
    try:
        for path, words in contents.items():
            if os.path.isdir(path):
                raise Error(f"{path}: is a folder, but a file is to be written; give another --svg")
            with open(aside[path], "w", encoding="utf-8") as out:
                out.write(words)
        for path in contents:
            os.replace(aside[path], path)
    except OSError as error:
        raise Error(f"{path}: cannot be written: {error.strerror}; give another --svg") from None
    finally:
        for path in aside.values():
            if os.path.exists(path):
                os.remove(path)


def draw(prefix, title, rows, bounds):
    write({f"{prefix}-bars.svg": bars(title, rows), f"{prefix}-roofline.svg": roofline(title, rows, bounds)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", nargs="+", help="CSV file of compare.py")
    parser.add_argument("--svg", required=True, metavar="PREFIX", help="writes PREFIX-bars.svg and PREFIX-roofline.svg")
    add_bounds(parser)
    arguments = parser.parse_args()
    try:
        check_prefix(arguments.svg)
        title, rows = read(arguments.csv)
        draw(arguments.svg, title, rows, find_bounds(arguments, title))
    except Error as error:
        print(f"chart.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
