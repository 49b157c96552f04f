#!/usr/bin/env python3
"""A whole GPT-2 forward pass in PyTorch, by attention implementation: eager, each SDPA backend of torch, and flashc.

usage: torch_gpt2.py [--model medium] [--length 4096] [--batches 1,4] [--dtypes fp16,bf16] [--attention NAMES]
                     [--compile] [--csv FILE]

Needs torch and flashc_torch, and nothing else: the model is written out here, as GPT-2 has it (pre-norm, learned positions,
GELU with tanh, tied head), with random weights and positions up to the length. Prints a markdown table with the median
milliseconds of a forward pass in eager mode, replayed as a CUDA graph (which leaves out what the host costs) and, with
--compile, with each block through torch.compile, and the largest error of a logit against the same model in float32. Rows
are printed as they are ready.
"""

import argparse
import contextlib
import copy
import csv
import math
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

SIZES = {"small": (12, 12, 768), "medium": (24, 16, 1024), "large": (36, 20, 1280)}  # layers, heads, width
VOCABULARY = 50257
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def eager_attention(q, k, v):
    """Scores, mask, softmax and the sum, each through memory."""
    length = q.shape[2]
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    hidden = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    return torch.softmax(scores.masked_fill(hidden, float("-inf")), -1) @ v


def torch_attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Block(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, attention):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.project(attention(q, k, v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, size, length):
        super().__init__()
        layers, heads, width = SIZES[size]
        self.tokens, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(heads, width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, attention, blocks=None):
        """Through `blocks` in place of the model's own, where they are given."""
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in blocks or self.blocks:
            x = block(x, attention)
        return self.norm(x) @ self.tokens.weight.T


def implementations():
    """(name, attention, context of a call)."""
    import flashc_torch

    def flashc(q, k, v):
        return flashc_torch.sdpa(q, k, v, is_causal=True)

    yield "eager", eager_attention, contextlib.nullcontext
    for name, backend in (("FlashAttention-2", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION),
                          ("memory-efficient", SDPBackend.EFFICIENT_ATTENTION)):
        yield f"SDPA, {name}", torch_attention, lambda backend=backend: sdpa_kernel(backend)
    yield "flashc", flashc, contextlib.nullcontext


def milliseconds(run, repeats):
    """Of each of `repeats` runs, or of as many as take two seconds but five at least, by events of the device, after a
    warm-up."""
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    start = time.perf_counter()
    run()
    torch.cuda.synchronize()
    repeats = min(repeats, max(5, int(2 / (time.perf_counter() - start))))
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for start, end in events:
        start.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in events]


def graph_of(run):
    """A function that replays `run` as a CUDA graph."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def measure(model, tokens, attention, options):
    """{mode: [milliseconds]} and the logits."""
    def run():
        return model(tokens, attention)

    logits = run()
    times = {"eager mode": milliseconds(run, options.repeats)}
    times["CUDA graph"] = milliseconds(graph_of(run), options.repeats)
    if options.compile:
        torch._dynamo.reset()
        # A block, which is compiled once for all of them. Torch's cache of compiled graphs is off: its key is not known to have the
        # backend of SDPA.
        torch.compiler.config.force_disable_caches = True
        blocks = [torch.compile(block, fullgraph=True) for block in model.blocks]
        try:
            times["torch.compile"] = milliseconds(lambda: model(tokens, attention, blocks), options.repeats)
        except RuntimeError as error:
            print(f"not compiled: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
            times["torch.compile"] = [math.nan]
    return times, logits


def table(dtype, batch, model, reference, tokens, options):
    """Rows of {column: value} for one dtype and batch."""
    for name, attention, context in implementations():
        if options.attention and name.removeprefix("SDPA, ") not in options.attention.split(","):
            continue
        print(f"{dtype}, batch {batch}: {name}", file=sys.stderr, flush=True)
        try:
            with context():
                times, logits = measure(model, tokens, attention, options)
        except (RuntimeError, torch.OutOfMemoryError) as error:
            print(f"skipped: {name} ({str(error).splitlines()[0]})", file=sys.stderr, flush=True)
            continue
        row = {"dtype": dtype, "batch": batch, "attention": name}
        for mode, each in times.items():
            row[mode] = statistics.median(each)
            row[mode + ", spread"] = max(each) - min(each)
        row["logit error"] = (logits.float() - reference).abs().max().item()
        yield row
        del logits
        torch.cuda.empty_cache()


def heading(modes):
    return ("| dtype | batch | attention | " + " | ".join(f"{mode}, ms" for mode in modes) + " | logit error |\n" +
            "| --- " * (len(modes) + 4) + "|")


def line(row, modes):
    return (f"| {row['dtype']} | {row['batch']} | {row['attention']} | " +
            " | ".join(f"{row[mode]:.2f}" for mode in modes) + f" | {row['logit error']:.1e} |")


def summary(rows, modes):
    """flashc beside eager attention and the fastest SDPA backend."""
    for dtype, batch in dict.fromkeys((row["dtype"], row["batch"]) for row in rows):
        here = [row for row in rows if (row["dtype"], row["batch"]) == (dtype, batch)]
        mine = [row for row in here if row["attention"] == "flashc"]
        peers = [row for row in here if row["attention"].startswith("SDPA")]
        slow = [row for row in here if row["attention"] == "eager"]
        if not (mine and peers and slow):
            continue
        for mode in modes:
            best = min(peers, key=lambda row: row[mode])
            yield (f"{dtype}, batch {batch}, {mode}: flashc takes {mine[0][mode]:.2f} ms, eager attention "
                   f"{slow[0][mode] / mine[0][mode]:.2f} times that, the best SDPA ({best['attention'].removeprefix('SDPA, ')}) "
                   f"{best[mode] / mine[0][mode]:.3f} times that")


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=SIZES, default="medium")
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--batches", default="1")
    parser.add_argument("--dtypes", default="fp16,bf16")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--attention", help="these alone, of eager, FlashAttention-2, cuDNN, memory-efficient and flashc")
    parser.add_argument("--compile", action="store_true", help="time the compiled model too")
    parser.add_argument("--csv", help="write all figures there")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: GPT-2 in PyTorch (torch sees no GPU)")
        return 0

    rows = []
    modes = ["eager mode", "CUDA graph"] + ["torch.compile"] * options.compile
    torch.manual_seed(0)
    with torch.device("cuda"):  # where random weights take no time
        exact = GPT2(options.model, options.length).eval()
    print(f"GPT-2 {options.model}, length {options.length}, on {torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(heading(modes), flush=True)
    for dtype in options.dtypes.split(","):
        model = copy.deepcopy(exact).to(DTYPES[dtype])
        for batch in map(int, options.batches.split(",")):
            tokens = torch.randint(VOCABULARY, (batch, options.length), device="cuda")
            # The rounded weights in float32, so that the error is that of the computation.
            rounded = copy.deepcopy(model).float()
            reference = torch.cat([rounded(one[None], torch_attention) for one in tokens])
            del rounded
            for row in table(dtype, batch, model, reference, tokens, options):
                rows.append(row)
                print(line(row, modes), flush=True)
    print("\n".join(["", *summary(rows, modes)]))
    if options.csv and rows:
        with open(options.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    return 0 if any(row["attention"] == "flashc" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
