#!/usr/bin/env python3
"""What one call of attention costs the host, beside torch's own: microseconds by number of queries, median and
percentiles, with the GPU kept from being the slower one (small problems; the stream is emptied between rounds).

usage: torch_latency.py [--rounds 50] [--device cuda]
"""

import argparse
import contextlib
import statistics
import sys
import time

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import flashc_torch


def microseconds(run, rounds, calls=50):
    """Of a call, for each of some rounds."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    run()
    out = []
    for _ in range(rounds):
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            run()
        out.append((time.perf_counter() - start) / calls * 1e6)
    wait()
    return out


def cell(run, rounds):
    each = microseconds(run, rounds)
    deciles = statistics.quantiles(each, n=10)
    return f"{statistics.median(each):.1f} ({deciles[0]:.1f} to {deciles[-1]:.1f})"


def forward(q, k, v, rounds):
    """Rows without a gradient."""
    mask = torch.ones(q.shape[2], k.shape[2], device=q.device, dtype=torch.bool).tril()
    calls = {
        "torch, is_causal": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "flashc_torch.sdpa, is_causal": lambda: flashc_torch.sdpa(q, k, v, is_causal=True),
        "flashc_torch.attention": lambda: flashc_torch.attention(q, k, v),
        "torch.ops.flashc.attention": lambda: torch.ops.flashc.attention(q, k, v),
        "torch, bool mask": lambda: F.scaled_dot_product_attention(q, k, v, mask),
        "flashc_torch.sdpa, bool mask": lambda: flashc_torch.sdpa(q, k, v, mask),
        "torch.empty_like": lambda: torch.empty_like(q),
    }
    yield "| call | no_grad, us: median (p10 to p90) | inference_mode, us |\n| --- | --- | --- |"
    for name, run in calls.items():
        cells = []
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                cells.append(cell(run, rounds))
        yield f"| {name} | {' | '.join(cells)} |"


class _Copies(torch.autograd.Function):
    """What a function in Python costs by itself."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.save_for_backward(*tensors)
        return tensors[0].clone()

    @staticmethod
    def backward(ctx, gradient):
        return tuple(gradient for _ in ctx.saved_tensors)


def backward(q, k, v, rounds):
    """Rows with gradients, causal."""
    tensors = [tensor.detach().requires_grad_() for tensor in (q, k, v)]
    gradient = torch.randn_like(q)

    def sdpa():
        return F.scaled_dot_product_attention(*tensors, is_causal=True)

    def operator():
        with torch.no_grad():
            torch.ops.flashc.attention_backward.default(gradient, None, *tensors, output, lse, None, None, "causal", None, False,
                                                        False, False)

    output, lse = flashc_torch.attention(*tensors, mask="causal")
    calls = {
        "torch, FlashAttention-2": (sdpa_kernel(SDPBackend.FLASH_ATTENTION), sdpa),
        "torch, cuDNN": (sdpa_kernel(SDPBackend.CUDNN_ATTENTION), sdpa),
        "flashc_torch.attention": (contextlib.nullcontext(), lambda: flashc_torch.attention(*tensors, mask="causal")[0]),
        "a function in Python that copies": (contextlib.nullcontext(), lambda: _Copies.apply(*tensors)),
    }
    yield "| call | forward with a graph, us | backward through autograd, us |\n| --- | --- | --- |"
    for name, (context, run) in calls.items():
        try:
            with context:
                result = run()
                ahead = cell(run, rounds)
        except RuntimeError as error:  # a backend's refusal
            yield f"| {name} | - | - |"
            print(f"skipped: {name} ({str(error).splitlines()[0]})", file=sys.stderr)
            continue
        back = cell(lambda: torch.autograd.grad(result, tensors, gradient, retain_graph=True), rounds)
        yield f"| {name} | {ahead} | {back} |"
    yield f"| torch.ops.flashc.attention_backward | - | {cell(operator, rounds)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--device", default="cuda", help="cpu: the calls with their kernels, which then run inside them")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("skipped: latency (torch sees no GPU)")
        return
    q, k, v = (torch.randn(1, 8, 128, 64, device=options.device, dtype=torch.float16) for _ in range(3))
    for row in forward(q, k, v, options.rounds):
        print(row, flush=True)
    print()
    for row in backward(q, k, v, options.rounds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
