#!/usr/bin/env python3
"""Train a GPT-2 on generated text, once by each attention implementation, from the same weights on the same text.

usage: torch_train.py [--model small] [--steps 300] [--length 1024] [--batch 8] [--dtype bf16] [--attention NAMES]
                      [--csv FILE] [--svg FILE]

Needs torch and flashc_torch. The model is that of torch_gpt2.py; weights are float32 and the step runs under autocast (with
--dtype fp32, on a CPU, as it is). Prints a markdown table: the loss of the last 20 steps, how far the losses are from those of
eager attention, the median milliseconds of a step (forward, backward and update) and the peak of allocated memory. --csv writes
a row for each step, --svg draws the losses.
"""

import argparse
import contextlib
import csv
import statistics
import sys
import time

import torch
from torch.nn import functional as F

import torch_gpt2

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": None}
COLOURS = ["#8c959f", "#d9730d", "#0969da", "#1a7f37", "#8250df"]


def text(batch, length, generator):
    """Sentences of a small language: each word follows from the two before it by one of four rules of its own, and a rule
    is kept for a sentence of 3 to 18 words. There is something to learn near and far."""
    words = 512
    rules = torch.randint(words, (4, 3), generator=torch.Generator().manual_seed(7))
    out = torch.randint(words, (batch, length), generator=generator)
    rule = torch.randint(4, (batch,), generator=generator)
    left = torch.randint(3, 19, (batch,), generator=generator)
    for n in range(2, length):
        a, b, c = rules[rule].T
        out[:, n] = torch.where(left > 0, (a * out[:, n - 1] + b * out[:, n - 2] + c) % words, out[:, n])
        ended = left == 0
        rule = torch.where(ended, torch.randint(4, (batch,), generator=generator), rule)
        left = torch.where(ended, torch.randint(3, 19, (batch,), generator=generator), left - 1)
    return out


def train(attention, context, model, texts, options, device):
    """The losses, the median seconds of a step and the peak of allocated bytes (0 on a CPU)."""
    on_gpu = device == "cuda"
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=0.01)
    dtype = DTYPES[options.dtype]
    scaler = torch.amp.GradScaler(device, enabled=options.dtype == "fp16")
    losses, seconds = [], []
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    for tokens in texts:
        tokens = tokens.to(device)
        start = time.perf_counter()
        with context(), torch.autocast(device, dtype) if dtype else contextlib.nullcontext():
            logits = model(tokens[:, :-1], attention)
            loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())  # waits
        seconds.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated() if on_gpu else 0
    return losses, statistics.median(seconds[min(5, len(seconds) - 1):]), peak


def run(options, device, model=None):
    """{name: (losses, seconds, bytes)}, of the implementations that can be trained."""
    results = {}
    generator = torch.Generator().manual_seed(1)
    texts = [text(options.batch, options.length + 1, generator) for _ in range(options.steps)]
    for name, attention, context in torch_gpt2.implementations():
        if options.attention and name.removeprefix("SDPA, ") not in options.attention.split(","):
            continue
        print(f"training with {name}", file=sys.stderr, flush=True)
        torch.manual_seed(0)
        fresh = (model() if model else torch_gpt2.GPT2(options.model, options.length)).to(device)
        try:
            losses, seconds, peak = results[name] = train(attention, context, fresh, texts, options, device)
            print(f"{name}: {seconds * 1e3:.1f} ms a step, last loss {losses[-1]:.4f}, peak {peak / 2 ** 30:.2f} GiB",
                  file=sys.stderr, flush=True)
        except (RuntimeError, torch.OutOfMemoryError) as error:
            print(f"skipped: {name} ({str(error).splitlines()[0]})", file=sys.stderr, flush=True)
    return results


def table(results):
    yield ("| attention | last loss | largest distance to eager's | step, ms | eager / it | peak memory, GiB |\n"
           "| --- | --- | --- | --- | --- | --- |")
    eager = results.get("eager")
    for name, (losses, seconds, peak) in results.items():
        distance = max(abs(a - b) for a, b in zip(losses, eager[0])) if eager else float("nan")
        ratio = eager[1] / seconds if eager else float("nan")
        yield (f"| {name} | {statistics.mean(losses[-20:]):.4f} | {distance:.4f} | {seconds * 1e3:.1f} | {ratio:.2f} | "
               f"{peak / 2 ** 30:.2f} |")


def draw(results):
    """The losses as one SVG picture."""
    width, height, left, top = 720, 400, 60, 20
    steps = max(len(losses) for losses, _, _ in results.values())
    most = max(max(losses) for losses, _, _ in results.values())

    def x(step):
        return left + (width - left - 20) * step / max(steps - 1, 1)

    def y(loss):
        return top + (height - top - 40) * (1 - loss / most)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for n in range(6):
        loss = most * n / 5
        parts.append(f'<path d="M{left} {y(loss):.1f}H{width - 20}" stroke="#d0d7de"/>'
                     f'<text x="{left - 8}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss:.1f}</text>')
    parts.append(f'<text x="{width - 20}" y="{height - 18}" text-anchor="end">step {steps - 1}</text>'
                 f'<text x="{left}" y="{height - 18}">step 0; loss in nats</text>')
    for n, (name, (losses, _, _)) in enumerate(results.items()):
        colour = COLOURS[n % len(COLOURS)]
        line = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in enumerate(losses))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
                     f'<text x="{width - 24}" y="{top + 16 * (n + 1)}" text-anchor="end" fill="{colour}">{name}</text>')
    return "\n".join(parts) + "\n</svg>\n"


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=torch_gpt2.SIZES, default="small")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--dtype", choices=DTYPES, default="bf16")
    parser.add_argument("--attention", default="eager,flashc,FlashAttention-2,cuDNN")
    parser.add_argument("--csv")
    parser.add_argument("--svg")
    return parser.parse_args(arguments)


def main():
    options = parse()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    results = run(options, device)
    where = torch.cuda.get_device_name() if device == "cuda" else "a CPU"
    print(f"GPT-2 {options.model}, {options.steps} steps, length {options.length}, batch {options.batch}, {options.dtype}, on "
          f"{where}, torch {torch.__version__}\n")
    print("\n".join(table(results)))
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["step", *results])
            writer.writerows(zip(range(options.steps), *(losses for losses, _, _ in results.values())))
    if options.svg and results:
        with open(options.svg, "w") as file:
            file.write(draw(results))
    sys.exit("flashc" not in results)


if __name__ == "__main__":
    main()
