#!/usr/bin/env python3
"""Gradients of attention with a learned bias in PyTorch: flashc beside FlexAttention.

usage: torch_bias.py [--lengths 4096,8192] [--heads 16] [--dim 128] [--dtype fp16] [--csv FILE]

The bias has a number for each query and key, once of each head and once of none, and requires a gradient, as that of a
model which learns its positions. Needs torch and flashc_torch. Prints a markdown table with the best milliseconds of a
backward alone (dQ, dK, dV and that of the bias), the largest difference of the bias's gradient from flashc's as a part of
the largest number in it, and the peak of memory beside the inputs.
"""

import argparse
import csv
import sys
import time

import torch
from torch.nn.attention.flex_attention import flex_attention

import flashc_torch

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def flashc(q, k, v, bias):
    return flashc_torch.attention(q, k, v, bias)[0]


def make_flex():
    torch._dynamo.reset()
    compiled = torch.compile(flex_attention, dynamic=False, fullgraph=True)

    def flex(q, k, v, bias):
        own = bias.shape[1] > 1

        def score(s, b, h, i, j):
            return s + (bias[0, h, i, j] if own else bias[0, 0, i, j])
        return compiled(q, k, v, score_mod=score)
    return flex


def best_ms(call, rounds=3, calls=5):
    best = float("inf")
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / calls)
    return best * 1e3


def measure(attention, tensors, gradient):
    """(milliseconds, gradient of the bias, bytes)."""
    output = attention(*tensors)

    def backward():
        return torch.autograd.grad(output, tensors, gradient, retain_graph=True)

    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    found = backward()[3].float()
    peak = torch.cuda.max_memory_allocated() - before
    return best_ms(backward), found, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="4096,8192")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--dtype", choices=DTYPES, default="fp16")
    parser.add_argument("--csv")
    options = parser.parse_args()
    dtype, rows = DTYPES[options.dtype], []
    print("| length | bias | flashc ms | FlexAttention ms | ratio | difference | flashc GB | FlexAttention GB |\n" + "| --- " * 8 + "|")
    for length in map(int, options.lengths.split(",")):
        for heads in (1, options.heads):
            torch.manual_seed(0)
            q, k, v, gradient = (torch.randn(1, length, options.heads, options.dim, device="cuda", dtype=dtype).transpose(1, 2)
                                 for _ in range(4))
            bias = torch.randn(1, heads, length, length, device="cuda", dtype=dtype)
            tensors = [tensor.requires_grad_() for tensor in (q, k, v, bias)]
            ours, expected, peak = measure(flashc, tensors, gradient)
            try:
                theirs, found, their_peak = measure(make_flex(), tensors, gradient)
                difference = ((found - expected).abs().max() / expected.abs().max()).item()
            except Exception as error:  # a peer's refusal is a result
                print(f"# FlexAttention, length {length}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
                theirs = difference = their_peak = float("nan")
            row = [length, f"{heads} heads" if heads > 1 else "1 for all heads", f"{ours:.2f}", f"{theirs:.2f}",
                   f"{theirs / ours:.2f}", f"{difference:.1e}", f"{peak / 1e9:.2f}", f"{their_peak / 1e9:.2f}"]
            rows.append(row)
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
            del expected, bias, tensors
            torch.cuda.empty_cache()
    if options.csv:
        with open(options.csv, "w", newline="") as out:
            csv.writer(out).writerows([["length", "bias", "flashc_ms", "flex_ms", "ratio", "difference", "flashc_gb", "flex_gb"],
                                       *rows])


if __name__ == "__main__":
    main()
