"""Markdown of made-up times: what compare.py writes, without a GPU."""
import dataclasses
import math
import os
import sys

sys.path.insert(0, os.environ["BENCHMARKS"])
import cells
import tables

NAN = math.nan


def result(cell, plain=None, plain_ms=NAN, **times):
    best = {}
    for impl, ms in times.items():
        tables.keep_best(best, [(impl.replace("_", "-"), NAN), (impl.replace("_", "-"), ms)])
    return tables.Result(cell, best, plain, {"flashc": plain_ms} if plain else {})


short, long = cells.grid(["fp16"], [64], [512, 1024])[:2]
ratios = tables.Ratios(sys.argv[1])
print(tables.against_peers([result(short, torch_fa2=2.0, torch_cudnn=1.0, flashc=0.8),
                            result(long, torch_fa2=NAN, torch_cudnn=2.0, flashc=1.0)], "title", "best", ratios))
behind = dataclasses.replace(long, backward=True)
print(tables.against_peers(tables.together([result(short, torch_cudnn=1.0, flashc=0.8),
                                            result(long, torch_cudnn=2.0, flashc=1.0)],
                                           [result(behind, torch_cudnn=3.0, flashc=1.5, torch_fa2=4.0)]),
                           "title", "best", ratios))
(window, plain), _ = cells.variants(["fp16"], [8192])[2:4]
print(tables.of_variants([result(window, plain, plain_ms=plain.flops / 5e11, flashc=window.flops / 4e11,
                                 torch_flex=window.flops / 2e11)], "title"))
