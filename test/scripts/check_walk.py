#!/usr/bin/env python3
"""The IR that docs/Walk.md shows is what the tools print.

usage: check_walk.py DOCS_FILE

A block of code under a line `<!-- $ COMMAND -->` is part of what COMMAND prints when run in the folder of DOCS_FILE. A
line `...` in it stands for any lines that are left out; between two of them the lines must stand together, in order. A
line that ends in ` ...` is the beginning of a line. Indentation and the numbers of values do not count.
"""

import os
import re
import subprocess
import sys

SHOWN = re.compile(r"^<!-- \$ (.*?) -->\n```\w*\n(.*?)^```", re.M | re.S)


def plain(line):
    """The line without indentation and with value names that are only numbers replaced by %_."""
    return re.sub(r"%(?:arg|c|cst_|c\w+_|dim_|cst)?\d*\b(?:[:#]\d+)?", "%_", line.strip())


def same(shown, printed):
    return printed.startswith(shown[:-4]) if shown.endswith(" ...") else printed == shown


def parts(block):
    """The runs of lines between `...` lines."""
    runs = [[]]
    for line in map(plain, block.splitlines()):
        if line == "...":
            runs.append([])
        elif line:
            runs[-1].append(line)
    return [run for run in runs if run]


def missing_part(block, output):
    """The first part that is not found behind the one before, or None."""
    lines = [plain(line) for line in output.splitlines() if line.strip()]
    start = 0
    for part in parts(block):
        for place in range(start, len(lines) - len(part) + 1):
            if all(map(same, part, lines[place:place + len(part)])):
                start = place + len(part)
                break
        else:
            return part
    return None


def main():
    path = sys.argv[1]
    shown = SHOWN.findall(open(path).read())
    wrong = not shown
    for command, block in shown:
        output = subprocess.run(command, shell=True, check=True, text=True, stdout=subprocess.PIPE,
                                cwd=os.path.dirname(os.path.abspath(path))).stdout
        part = missing_part(block, output)
        if part:
            wrong = True
            print(f"{path}: `{command}` does not print\n    " + "\n    ".join(part))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
