"""The tables of compare.py: ratios, geometric means, Markdown and CSV."""
import csv
import dataclasses
import math

import cells


class Error(Exception):
    """Where, what was wrong with both values, what to do."""


@dataclasses.dataclass
class Result:
    cell: cells.Cell
    best: dict  # {impl: ms}, nan where it could not run
    plain: cells.Cell = None  # the cell that a variant is held against, and flashc's times of it
    plain_best: dict = dataclasses.field(default_factory=dict)
    parts: tuple = ()  # the results that it is the sum of


def keep_best(best, times):
    for impl, ms in times:
        best[impl] = min((t for t in (best.get(impl, math.nan), ms) if t == t), default=math.nan)


def geometric_mean(values):
    values = [value for value in values if not math.isnan(value)]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def is_ours(impl):
    return impl.startswith("flashc")


# A peer that is not here, by its ratio to one that is


class Ratios:
    """Speed of one implementation as a part of torch-cudnn's, from CSV files that have both; their paths by commas."""
    BASE = "torch-cudnn"

    def __init__(self, paths):
        self.sources, times = {}, {}
        for path in paths.split(","):
            times.update(self.read(path))
        impls = sorted({impl for _, impl in times} - {self.BASE})
        if len(impls) != 1:
            raise Error(f"{paths}: {len(impls)} implementations stand beside {self.BASE} ({', '.join(impls)}), but a ratio "
                        "needs one; remove the rows of others")
        self.impl = impls[0]
        self.ratios = {key: times[key, self.BASE] / ms for (key, impl), ms in times.items()
                       if impl == self.impl and (key, self.BASE) in times}
        if not self.ratios:
            raise Error(f"{paths}: no cell has both {self.impl} and {self.BASE}; give a file with both")

    @property
    def source(self):
        """The files' names and what they say of themselves."""
        return " and ".join(f"{path.rsplit('/', 1)[-1]} ({said})" for path, said in self.sources.items())

    def read(self, path):
        """{(key, impl): ms} of the rows that ran."""
        try:
            with open(path, newline="") as file:
                lines = file.read().splitlines()
        except OSError as error:
            raise Error(f"{path}: cannot be read: {error.strerror}; give a CSV with times of a peer") from None
        comments = [line[1:].strip() for line in lines if line.startswith("#")]
        self.sources[path] = " ".join(comments)
        times = {}
        for row in csv.DictReader(line for line in lines if line and not line.startswith("#")):
            try:
                if math.isnan(ms := float(row["ms"])):
                    continue
                key = (row["dtype"], row["dir"], *(int(row[name]) for name in ("hdim", "seqlen", "batch", "heads", "causal")))
            except (KeyError, TypeError, ValueError) as error:
                raise Error(f"{path}: a row has no usable {error}; the columns are those of "
                            f"'{cells.HEADER[:66]}'") from None
            times[key, row["impl"]] = ms
        return times

    def ms(self, result):
        """Milliseconds by the ratio, or nan where no file has such a cell or its base did not run."""
        if result.parts:
            return sum(map(self.ms, result.parts))
        cell = result.cell
        if cell.dim != cell.value_dim or cell.score != "none" or cell.mask not in ("none", "causal"):
            return math.nan
        key = (cell.dtype, cell.direction, cell.dim, cell.length, cell.batch, cell.heads, int(cell.mask == "causal"))
        return result.best.get(self.BASE, math.nan) / self.ratios.get(key, math.nan)


# Tables


def together(forward, backward):
    """The sums of forward results and those of the same problems' backward."""
    behind = {dataclasses.replace(r.cell, backward=False): r for r in backward}
    sums = []
    for first in forward:
        second = behind.get(first.cell)
        if second:
            best = {impl: ms + second.best[impl] for impl, ms in first.best.items() if impl in second.best}
            cell = cells.Together(*(getattr(first.cell, field.name) for field in dataclasses.fields(first.cell)))
            sums.append(Result(cell, best, parts=(first, second)))
    return sums


def reference(best, against):
    """Milliseconds of the peer that counts: one by name, or `best`, the fastest of those that ran."""
    if against != "best":
        return best.get(f"torch-{against}", math.nan)
    return min((ms for impl, ms in best.items() if not is_ours(impl) and ms == ms), default=math.nan)


def row(fields):
    return "| " + " | ".join(fields) + " |"


def table(heads, rows):
    return [row(heads), "|" + " --- |" * len(heads), *map(row, rows)]


def means(heading, groups, columns):
    """Geometric means and the lowest value; groups are {name: [index]}, columns {name: [value of each result]}."""
    everything = sorted(index for group in groups.values() for index in group)
    rows = []
    for name, group in [*groups.items(), ("all", everything)]:
        cells_ = [name]
        for values in columns.values():
            here = [values[index] for index in group]
            lowest = min((value for value in here if value == value), default=math.nan)
            cells_.append(f"{geometric_mean(here):.3f} ({lowest:.2f})")
        rows.append(cells_)
    return table([heading, *columns], rows)


def group_by(results, key):
    groups = {}
    for index, result in enumerate(results):
        groups.setdefault(key(result), []).append(index)
    return groups


def mask_name(cell):
    return "full" if cell.mask == "none" else cell.mask


def not_run(results):
    """Lines that name what could not run: once what never did, else by cells."""
    gone = {}
    for result in results:
        for impl, ms in result.best.items():
            if math.isnan(ms):
                gone.setdefault(impl, []).append(result.cell)
    never = [impl for impl, missed in gone.items() if len(missed) == sum(impl in result.best for result in results)]
    lines = [f"- {impl} did not run" for impl in never]
    for impl, missed in gone.items():
        lines += [f"- {impl} did not run {cell.name}" for cell in missed if impl not in never]
    return ["", *lines] if lines else []


def against_peers(results, title, against, ratios=None):
    """Speeds and the ratios to the peers, with a peer by ratio where there is one."""
    impls = list(dict.fromkeys(impl for result in results for impl in result.best))
    ours = [impl for impl in impls if is_ours(impl)]
    columns = {f"{impl} / {against}": [reference(r.best, against) / r.best.get(impl, math.nan) for r in results]
               for impl in ours}
    what = "the fastest peer's" if against == "best" else f"torch-{against}'s"
    lines = [title, "", f"TFLOP/s, {results[0].cell.direction_name}; the last columns are flashc's speed as a part of "
             f"{what}."]
    by_ratio = {}
    if ratios:
        star = ratios.impl + "*"
        by_ratio[star] = [ratios.ms(r) for r in results]
        for impl in ours:
            columns[f"{impl} / best with {star}"] = [
                reference({**r.best, star: ms}, "best") / r.best.get(impl, math.nan)
                for r, ms in zip(results, by_ratio[star])]
        lines.append(f"{star} was not timed here: it is {ratios.BASE}'s speed here times their ratio in {ratios.source}.")
    heads = ["type", "d", "H", "mask", "length", *impls, *by_ratio, *columns]
    rows = []
    for index, result in enumerate(results):
        cell = result.cell
        speeds = [result.best.get(impl, math.nan) for impl in impls] + [values[index] for values in by_ratio.values()]
        rows.append([cell.dtype, cell.dims, str(cell.heads), mask_name(cell), str(cell.length),
                     *(f"{cell.tflops(ms):.0f}" if ms == ms else "-" for ms in speeds),
                     *(f"{values[index]:.2f}" for values in columns.values())])
    groups = group_by(results, lambda r: f"{r.cell.dtype} d{r.cell.dims} H{r.cell.heads} {mask_name(r.cell)}")
    lines += ["", *table(heads, rows), "", *means("geometric mean (lowest)", groups, columns), *not_run(results)]
    return "\n".join(lines) + "\n"


def of_variants(results, title):
    """Windows and score functions beside FlexAttention and beside flashc's plain kernel."""
    def speed(cell, best, impl):
        return cell.tflops(best.get(impl, math.nan))
    ours = list(dict.fromkeys(impl for r in results for impl in r.best if is_ours(impl)))
    peers = list(dict.fromkeys(impl for r in results for impl in r.best if not is_ours(impl)))
    columns = {}
    for impl in ours:
        columns[f"{impl} / plain"] = [speed(r.cell, r.best, impl) / speed(r.plain, r.plain_best, impl) for r in results]
        for peer in peers:
            columns[f"{impl} / {peer}"] = [r.best.get(peer, math.nan) / r.best.get(impl, math.nan) for r in results]
    rows = []
    for index, r in enumerate(results):
        cell = r.cell
        speeds = [speed(cell, r.best, impl) for impl in [*peers, *ours]]
        speeds += [speed(r.plain, r.plain_best, impl) for impl in ours]
        rows.append([cell.dtype, cell.dims, str(cell.heads), mask_name(cell), cell.score, mask_name(r.plain),
                     str(cell.length), *(f"{value:.0f}" if value == value else "-" for value in speeds),
                     *(f"{values[index]:.2f}" for values in columns.values())])
    heads = ["type", "d", "H", "mask", "score", "plain", "length", *peers, *ours, *(f"plain {impl}" for impl in ours),
             *columns]
    lines = [title, "", f"TFLOP/s, {results[0].cell.direction_name}, of the FLOPs that the mask leaves; plain is flashc's "
             "kernel with the mask of that column and no score function, timed in turns with the variant. Ratios are of "
             "these speeds.", ""]
    groups = group_by(results, lambda r: f"{r.cell.dtype} {mask_name(r.cell)} {r.cell.score}")
    lines += [*table(heads, rows), "", *means("geometric mean (lowest)", groups, columns), *not_run(results)]
    return "\n".join(lines) + "\n"


def of_orders(results, title):
    """What a fixed order of sums costs."""
    any_order, fixed = "flashc", "flashc-deterministic"
    costs = [r.best.get(fixed, math.nan) / r.best.get(any_order, math.nan) for r in results]
    rows = [[r.cell.dtype, r.cell.dims, str(r.cell.heads), mask_name(r.cell), str(r.cell.length),
             *(f"{r.best.get(impl, math.nan):.4f}" for impl in (any_order, fixed)), f"{100 * (cost - 1):.0f} %"]
            for r, cost in zip(results, costs)]
    lines = [title, "", "Milliseconds, backward, timed in turns: sums in any order and in a fixed one, which gives the same "
             "bits in every run.", "",
             *table(["type", "d", "H", "mask", "length", "any order", "fixed order", "cost"], rows), *not_run(results)]
    return "\n".join(lines) + "\n"


def csv_lines(results):
    """Each cell's times; plain cells once, behind the others."""
    yield cells.HEADER
    plain = {}
    for result in results:
        for impl, ms in result.best.items():
            yield result.cell.row(impl, ms)
        if result.plain:
            keep_best(plain.setdefault(result.plain, {}), result.plain_best.items())
    for cell, best in plain.items():
        for impl, ms in best.items():
            yield cell.row(impl, ms)
