"""Peers on the CPU: FlexAttention's masks and score functions against a formula, and failures that become notes."""
import math
import os
import sys

sys.path.insert(0, os.environ["BENCHMARKS"])
import cells
import contenders
import peers
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

LENGTH, HEADS = 96, 4


def formula(q, k, v, cell):
    """softmax(score(q k / sqrt(d)) under the mask) v, in double, by the definitions of flashc-bench --help."""
    s = q.double() @ k.double().transpose(-1, -2) / math.sqrt(q.shape[-1])
    i, j = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)[None]
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)], dtype=torch.float64)[:, None, None]
    if cell.score == "alibi":
        s = s + slopes * (j - i)
    elif cell.score == "alibi-symmetric":
        s = s - slopes * (j - i).abs()
    elif cell.score == "softcap(3)":
        s = 3 * torch.tanh(s / 3)
    left, right = {"none": (LENGTH, LENGTH), "causal": (LENGTH, 0)}.get(cell.mask) or cell.window
    seen = (j >= i - left) & (j <= i + right if right >= 0 else True)
    return torch.softmax(s.masked_fill(~seen, -math.inf), -1) @ v.double()


torch.manual_seed(1)
worst = 0
for mask in ("none", "causal", "window(10,0)", "window(10,20)", "window(10,-1)"):
    for score in ("none", "alibi", "alibi-symmetric", "softcap(3)"):
        cell = cells.Cell("fp16", 64, 32, LENGTH, HEADS, mask, score)
        q, k, v = (2 * torch.randn(1, HEADS, LENGTH, d) for d in (64, 64, 32))
        mod = contenders.mask_mod(cell)
        got = flex_attention(q, k, v, score_mod=contenders.score_mod(cell, "cpu"),
                             block_mask=mod and create_block_mask(mod, None, None, LENGTH, LENGTH, device="cpu"))
        worst = max(worst, (got - formula(q, k, v, cell)).abs().max().item())
print("flex agrees" if worst < 1e-5 else f"flex is off by {worst}")

contenders.DEVICE, calls = "cpu", []
torch.cuda.synchronize = lambda: None
peers.time_ms = lambda launch: launch() is None or 1.5
cells.TOKENS = LENGTH
notes = []
cell = cells.Cell("fp16", 64, 64, LENGTH, HEADS, "causal")
efficient = contenders.Sdpa("cudnn", notes.append)
for _ in range(2):
    print("cudnn", efficient.times(cell), "notes", len(notes))
print("refused", efficient.times(cells.Cell("fp16", 64, 64, LENGTH, HEADS, "causal", "alibi")), notes[-1])

flex = contenders.Flex(notes.append)
prepared = []
flex.prepare = lambda cell: prepared.append(cell) or (lambda: 0)
print("flex", flex.times(cell), flex.times(cell), "prepared", len(prepared))


def fail(cell):
    prepared.append(cell)
    raise RuntimeError("no such kernel")


flex.prepare = fail
other = cells.Cell("fp16", 64, 64, LENGTH, HEADS)
print("flex", flex.times(other), flex.times(other), "prepared", len(prepared), notes[-1])

pallas = contenders.Pallas(notes.append, [cell], python="false")
print("pallas", pallas.times(cell), pallas.times(other), notes[-1])
pallas.close()
