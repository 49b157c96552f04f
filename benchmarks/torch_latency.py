#!/usr/bin/env python3
"""What one call of attention costs the host, beside torch's own: microseconds by number of queries, median and
percentiles, with the GPU kept from being the slower one (small problems; the stream is emptied between rounds).

usage: torch_latency.py [--rounds 50]
"""

import argparse
import statistics
import time

import torch
from torch.nn import functional as F

import flashc_torch


def microseconds(run, rounds, calls=50):
    """Of a call, for each of some rounds."""
    run()
    out = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            run()
        out.append((time.perf_counter() - start) / calls * 1e6)
    torch.cuda.synchronize()
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: latency (torch sees no GPU)")
        return
    q, k, v = (torch.randn(1, 8, 128, 64, device="cuda", dtype=torch.float16) for _ in range(3))
    mask = torch.ones(128, 128, device="cuda", dtype=torch.bool).tril()
    calls = {
        "torch, is_causal": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "flashc_torch.sdpa, is_causal": lambda: flashc_torch.sdpa(q, k, v, is_causal=True),
        "flashc_torch.attention": lambda: flashc_torch.attention(q, k, v),
        "torch.ops.flashc.attention": lambda: torch.ops.flashc.attention(q, k, v),
        "torch, bool mask": lambda: F.scaled_dot_product_attention(q, k, v, mask),
        "flashc_torch.sdpa, bool mask": lambda: flashc_torch.sdpa(q, k, v, mask),
        "torch.empty_like": lambda: torch.empty_like(q),
    }
    print("| call | no_grad, us: median (p10 to p90) | inference_mode, us |")
    print("| --- | --- | --- |")
    for name, run in calls.items():
        cells = []
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                each = microseconds(run, options.rounds)
            deciles = statistics.quantiles(each, n=10)
            cells.append(f"{statistics.median(each):.1f} ({deciles[0]:.1f} to {deciles[-1]:.1f})")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
