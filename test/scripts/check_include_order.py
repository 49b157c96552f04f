#!/usr/bin/env python3
"""Walk the #include lines of lib/ and include/flashc/ and fail where one points the wrong way.

usage: check_include_order.py SOURCE_ROOT

ROWS is the tree's order: a folder may include itself and what is listed, and no other folder of flashc. A folder that
is not listed is an error, so that a new one has to find its place here. `no_mlir` folders must build without MLIR.
"""

import os
import re
import sys

IRS = ["Dialect/Attn/IR", "Dialect/Tile/IR", "Dialect/Warp/IR"]
TRANSFORMS = ["Dialect/Attn/Transforms", "Dialect/Tile/Transforms", "Dialect/Warp/Transforms"]
TARGETS = ["Target/NVPTX", "Target/CPU"]
CONVERSIONS = ["Conversion/AttnToTile", "Conversion/TileToWarp", "Conversion/WarpToNVVM", "Conversion/TileToCPU"]
# The public API: for programs that have no LLVM.
PUBLIC = {"flashc.h", "flashc.hpp", "score.hpp"}
NO_MLIR = {"Support", "Reference", "Cache", "Runtime"}

ROWS = {
    "Support": [],
    "Reference": ["Support"],
    "Cache": ["Support"],
    "Runtime": ["Support"],
    "Dialect/Attn/IR": ["Support"],
    "Dialect/Tile/IR": ["Support"],
    "Dialect/Warp/IR": ["Support"],
    "Analysis": ["Support", *IRS],
    "Dialect/Attn/Gradient": ["Support", "Dialect/Attn/IR"],
    "Dialect/Attn/Transforms": ["Support", "Analysis", "Dialect/Attn/IR", "Dialect/Attn/Gradient"],
    "Dialect/Tile/Transforms": ["Support", "Analysis", "Dialect/Tile/IR"],
    "Dialect/Warp/Transforms": ["Support", "Analysis", "Dialect/Warp/IR"],
    # Passes.h of all conversions is one header; each folder sees the IRs in its name.
    "Conversion": ["Support"],
    "Conversion/AttnToTile": ["Support", "Analysis", "Conversion", "Dialect/Attn/IR", "Dialect/Tile/IR"],
    "Conversion/TileToWarp": ["Support", "Analysis", "Conversion", "Dialect/Tile/IR", "Dialect/Warp/IR"],
    "Conversion/WarpToNVVM": ["Support", "Analysis", "Conversion", "Dialect/Warp/IR"],
    "Conversion/TileToCPU": ["Support", "Analysis", "Conversion", "Dialect/Tile/IR"],
    "Target/NVPTX": ["Support"],
    "Target/CPU": ["Support"],
    "Pipelines": ["Support", "Analysis", *IRS, *TRANSFORMS, "Conversion", *CONVERSIONS, *TARGETS],
    "Compiler": ["Support", "Analysis", *IRS, *TRANSFORMS, "Conversion", *CONVERSIONS, *TARGETS, "Pipelines"],
    "Jit": ["Support", "Cache", "Runtime", "Compiler", *TARGETS],
}


def folder_of(path):
    """The row that a path such as `Dialect/Tile/IR/Tile.h` or `Target/NVPTX.h` belongs to: the longest that fits."""
    parts = os.path.splitext(path)[0].split("/")
    for length in range(len(parts), 0, -1):
        if "/".join(parts[:length]) in ROWS:
            return "/".join(parts[:length])
    return None


def includes_of(text):
    """(line number, row or None, spelling) of each include of ours, and `mlir` for MLIR's headers."""
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+[<"](.*?)[>"]', line)
        if not match:
            continue
        spelling = match.group(1)
        generated = re.match(r"(Attn|Tile|Warp)/\w+\.(h|cpp)\.inc$", spelling)
        if generated and "Passes" in spelling:
            yield number, f"Dialect/{generated.group(1)}/Transforms", spelling
        elif generated:
            yield number, f"Dialect/{generated.group(1)}/IR", spelling
        elif spelling.startswith("flashc/"):
            yield number, folder_of(spelling[len("flashc/"):]), spelling
        elif spelling.startswith("mlir/"):
            yield number, "mlir", spelling


def check_public(place, text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+[<"](.*?)[>"]', line)
        if match and "/" in match.group(1) and match.group(1) not in {f"flashc/{name}" for name in PUBLIC}:
            yield f"{place}:{number}: a public header may include public headers and the standard library, but not {match.group(1)}"


def check_file(place, path, text):
    if path in PUBLIC:
        yield from check_public(place, text)
        return
    row = folder_of(path)
    if row is None:
        yield f"{place}: the folder is in no row; give it its place in test/scripts/check_include_order.py"
        return
    for number, target, spelling in includes_of(text):
        if target == "mlir":
            if row in NO_MLIR:
                yield f"{place}:{number}: {row} must build without MLIR, but includes {spelling}"
        elif target is None:
            yield f"{place}:{number}: {spelling} is in no known folder"
        elif target != row and target not in ROWS[row]:
            allowed = ", ".join(ROWS[row]) or "nothing of flashc"
            yield f"{place}:{number}: {row} may include {allowed}, but not {target} ({spelling})"


def check_tree(root):
    for top in ("lib", "include/flashc"):
        for folder, _, files in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(files):
                if name.endswith((".h", ".hpp", ".cpp")):
                    place = os.path.join(folder, name)
                    path = os.path.relpath(place, os.path.join(root, top))
                    yield from check_file(os.path.relpath(place, root), path, open(place).read())


def check_itself():
    """A check that cannot fail is none: one include the wrong way in each direction that matters."""
    wrong = [("flashc.h", '#include "llvm/ADT/StringRef.h"'), ("flashc.hpp", '#include "flashc/Jit/Kernel.h"'), ("Support/A.cpp", '#include "flashc/Runtime/Module.h"'), ("Runtime/A.cpp", '#include "mlir/IR/Builders.h"'),
             ("Dialect/Tile/IR/A.cpp", '#include "Warp/WarpOps.h.inc"'), ("Other/A.cpp", ""),
             ("Conversion/AttnToTile/A.cpp", '#include "flashc/Dialect/Warp/IR/Warp.h"')]
    right = [("flashc.hpp", '#include "flashc/flashc.h"\n#include <string>'), ("Compiler/A.cpp", '#include "flashc/Target/NVPTX/PTX.h"'), ("Jit/A.cpp", '#include "flashc/Runtime/M.h"')]
    return (all(list(check_file(path, path, text)) for path, text in wrong)
            and not any(list(check_file(path, path, text)) for path, text in right))


def main():
    if not check_itself():
        print("check_include_order: its own examples are judged wrongly")
        return 1
    problems = list(check_tree(sys.argv[1]))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
