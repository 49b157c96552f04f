#!/usr/bin/env python3
"""JAX Pallas FlashAttention-3 (Mosaic GPU), timed one cell at a time in a process of its own.

usage: pallas_peer.py CELLS < LINES

CELLS is a file with a line (cells.Cell.words) for each cell that may come; they are compiled in its order by a thread
while others are timed. Each line of standard input is answered by one in the form of flashc-bench and one that says
`end`; milliseconds are nan, and standard error says why, where the kernel cannot run. A time is the best of 3 rounds
of 12 back-to-back launches by CUPTI, which leaves out what launching costs, for the fastest of its key blocks.
"""
import functools
import math
import os
import sys
import threading

import cells

BLOCK_KV = {64: (256, 128), 128: (128, 64), 256: (64,)}  # what fits into shared memory; tried in turn
ROUNDS, REPS = 3, 12


class Compiled:
    """The kernels of one cell: [(name, function)], or why there are none."""

    def __init__(self, cell):
        self.cell, self.kernels, self.errors, self.done = cell, [], [], threading.Event()

    def compile(self):
        try:
            self.compile_all()
        except Exception as error:  # nothing may keep the thread from the next cell
            self.errors.append(f"{type(error).__name__}: {str(error)[:120]}")
        finally:
            self.done.set()

    def compile_all(self):
        import jax
        import jax.numpy as jnp
        from jax.experimental.pallas.ops.gpu import attention_mgpu
        cell = self.cell
        dtype = {"fp16": jnp.float16, "bf16": jnp.bfloat16}[cell.dtype]
        shape = jax.ShapeDtypeStruct((cell.batch, cell.length, cell.heads, cell.dim), dtype)
        for block in BLOCK_KV.get(cell.dim, (128, 64)):
            try:
                config = attention_mgpu.TuningConfig(block_q=64, block_kv=block, max_concurrent_steps=2,
                                                     causal=cell.mask == "causal")
                kernel = jax.jit(functools.partial(attention_mgpu.attention, config=config))
                self.kernels.append(kernel.lower(shape, shape, shape).compile())
            except Exception as error:  # whatever it is, the other block may do
                self.errors.append(f"kv {block}: {type(error).__name__}: {str(error)[:120]}")


def fits(cell):
    return cell.dim == cell.value_dim and cell.score == "none" and cell.mask in ("none", "causal")


def mean_ms(measured):
    return sum(measured) / len(measured) if isinstance(measured, (list, tuple)) else measured


def time_ms(compiled):
    import jax
    import jax.numpy as jnp
    from jax.experimental.mosaic.gpu import profiler
    cell = compiled.cell
    dtype = {"fp16": jnp.float16, "bf16": jnp.bfloat16}[cell.dtype]
    shape = (cell.batch, cell.length, cell.heads, cell.dim)
    arrays = [jax.random.normal(key, shape, dtype) for key in jax.random.split(jax.random.key(0), 3)]
    best = math.nan
    for kernel in compiled.kernels:
        measure = profiler.measure(kernel, iterations=REPS)
        for _ in range(ROUNDS):
            ms = mean_ms(measure(*arrays)[1])
            best = ms if math.isnan(best) else min(best, ms)
    return best


def answer(cell, table):
    """Milliseconds of a launch."""
    if not fits(cell):
        raise ValueError("its kernel has no such head dims, mask or score function")
    compiled = table.get(cell)
    if compiled is None:
        compiled = Compiled(cell)
        compiled.compile()
    compiled.done.wait()
    if not compiled.kernels:
        raise RuntimeError("; ".join(compiled.errors))
    return time_ms(compiled)


def main():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
    except ImportError as error:
        sys.exit(f"# pallas: not timed: {error}")
    with open(sys.argv[1]) as file:
        known = dict.fromkeys(cell for cell in map(cells.parse_words, file) if fits(cell))
    table = {cell: Compiled(cell) for cell in known}

    def compile_all():
        for compiled in table.values():
            compiled.compile()
    threading.Thread(target=compile_all, daemon=True).start()
    print(f"# pallas: jax {jax.__version__}", file=sys.stderr, flush=True)
    for line in sys.stdin:
        cell = cells.parse_words(line)
        ms = math.nan
        try:
            ms = answer(cell, table)
        except Exception as error:  # a peer's refusal is a result
            print(f"# pallas-mgpu {cell.name}: {type(error).__name__}: {str(error)[:240]}", file=sys.stderr, flush=True)
        print(cell.row("pallas-mgpu", ms), "end", sep="\n", flush=True)


if __name__ == "__main__":
    main()
