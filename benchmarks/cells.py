"""The problems of compare.py's tables, and what is counted of each."""
import csv
import dataclasses
import io
import itertools
import math
import re

TOKENS = 16384  # batch * length
WIDTH = 2048  # heads * head dim, where a table does not say otherwise

# The line of a CSV file: chart.py's columns and four behind them.
HEADER = "impl,dtype,dir,hdim,seqlen,batch,heads,causal,ms,tflops,first_call_s,hdim_v,kv_heads,mask,score"


@dataclasses.dataclass(frozen=True)
class Cell:
    """A problem. Queries and keys are `length` each, key heads as many as heads."""
    dtype: str  # fp16, bf16
    dim: int  # of Q and K
    value_dim: int  # of V and O
    length: int
    heads: int
    mask: str = "none"  # none, causal or window(L,R)
    score: str = "none"  # none, alibi, alibi-symmetric or softcap(c), as flashc-bench has them
    backward: bool = False  # gradients of Q, K and V, from O and LSE

    @property
    def batch(self):
        return max(TOKENS // self.length, 1)

    @property
    def dims(self):
        return str(self.dim) if self.dim == self.value_dim else f"{self.dim}/{self.value_dim}"

    @property
    def window(self):
        """(L, R) of a window, None for other masks; -1 is no bound."""
        found = re.fullmatch(r"window\((-?\d+),(-?\d+)\)", self.mask)
        return tuple(map(int, found.groups())) if found else None

    @property
    def pairs(self):
        """Pairs (query, key) of a head that count: all, half with causal (the papers' count), else those of the window."""
        if self.mask == "none":
            return self.length**2
        if self.mask == "causal":
            return self.length**2 / 2
        left, right = (bound if bound >= 0 else self.length for bound in self.window)
        return sum(min(i + right, self.length - 1) - max(i - left, 0) + 1 for i in range(self.length))

    @property
    def flops(self):
        """Two for each multiply-add of Q K^T and P V over the pairs: flashc-bench counts the same."""
        products = 2.5 if self.backward else 1  # five for two, as the papers count
        return products * 2 * self.batch * self.heads * (self.dim + self.value_dim) * self.pairs

    @property
    def name(self):
        mask = {"none": "full"}.get(self.mask, self.mask)
        score = "" if self.score == "none" else " " + self.score
        direction = " backward" if self.backward else ""
        return f"{self.dtype} d{self.dims} H{self.heads} {mask}{score} {self.length}{direction}"

    @property
    def direction(self):
        return "bwd" if self.backward else "fwd"

    @property
    def direction_name(self):
        return "backward" if self.backward else "forward"

    @property
    def words(self):
        """The cell as a line for flashc-bench --stdin and pallas_peer.py."""
        return (f"dtype={self.dtype} d={self.dim} dv={self.value_dim} length={self.length} heads={self.heads} "
                f"mask={self.mask} score={self.score}")

    def tflops(self, ms):
        return self.flops / ms / 1e9

    def row(self, impl, ms, first=math.nan):
        """A line of a CSV file."""
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(
            [impl, self.dtype, self.direction, self.dim, self.length, self.batch, self.heads, int(self.mask == "causal"),
             f"{ms:.4f}", f"{self.tflops(ms):.1f}", f"{first:.2f}", self.value_dim, self.heads, self.mask, self.score])
        return out.getvalue()


@dataclasses.dataclass(frozen=True)
class Together(Cell):
    """A forward problem, and its backward behind it."""

    @property
    def flops(self):
        return 3.5 * super().flops

    @property
    def direction(self):
        return "fwd+bwd"

    @property
    def direction_name(self):
        return "forward and backward together"


def parse_words(line):
    """The cell of a line that `words` made."""
    words = dict(word.split("=", 1) for word in line.split())
    return Cell(words["dtype"], int(words["d"]), int(words["dv"]), int(words["length"]), int(words["heads"]),
                words["mask"], words["score"])


def grid(dtypes, dims, lengths, backward=False):
    """The FlashAttention papers' grid."""
    return [Cell(dtype, dim, dim, length, max(WIDTH // dim, 1), mask, backward=backward)
            for dtype, dim, mask, length in itertools.product(dtypes, dims, ("none", "causal"), lengths)]


def mla(dtypes, heads, lengths):
    """Head dims 192 and 128, as of multi-head latent attention."""
    return [Cell(dtype, 192, 128, length, h, mask)
            for dtype, h, mask, length in itertools.product(dtypes, heads, ("none", "causal"), lengths)]


# Each variant with the plain kernel that it is held against.
VARIANTS = [("window(1024,1024)", "none", "none"), ("window(1024,-1)", "none", "none"), ("window(1024,0)", "none", "causal"),
            ("none", "alibi-symmetric", "none"), ("causal", "alibi", "causal"),
            ("none", "softcap(30)", "none"), ("causal", "softcap(30)", "causal")]


def variants(dtypes, lengths, backward=False):
    """[(cell, plain cell)]: windows and score functions, head dim 128, 16 heads."""
    def cell(dtype, length, mask, score):
        return Cell(dtype, 128, 128, length, 16, mask, score, backward)
    return [(cell(dtype, length, mask, score), cell(dtype, length, plain, "none"))
            for dtype, (mask, score, plain), length in itertools.product(dtypes, VARIANTS, lengths)]
