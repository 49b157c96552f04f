#!/usr/bin/env python3
"""Every ```mlir example of the ODS files is run by a test.

usage: check_examples.py SOURCE_ROOT

* An op's example stands word for word (indentation apart) in some test of its dialect, test/Dialect/LEVEL/*.mlir.
* A pass's example has a part `// Before` and a part `// After`. In the pass's own test file (test/**/NAME.mlir, NAME
  being the flag without its level) each line of Before stands in some line of input, and each line of After in some
  CHECK line, or it is what one matches. Value names are free there, since FileCheck captures them.
"""

import glob
import os
import re
import sys

BLOCK = re.compile(r"```mlir\n(.*?)```", re.S)
OPEN = re.compile(r'\bdef \w+ : (?:\w+_Op<"(\w+)"|Pass<"([\w-]+)")')


def examples(text):
    """(mnemonic or None, pass flag or None, lines) of each example, in the text of one .td file."""
    starts = [(match.start(), match.groups()) for match in OPEN.finditer(text)]
    for block in BLOCK.finditer(text):
        owners = [names for start, names in starts if start < block.start()]
        lines = [line.strip() for line in block.group(1).splitlines() if line.strip()]
        if owners:
            yield *owners[-1], lines


def contains(text_lines, lines):
    return any(text_lines[start:start + len(lines)] == lines for start in range(len(text_lines) - len(lines) + 1))


def anonymous(line):
    """The line with every value name, or FileCheck's capture of one, replaced by %_."""
    line = re.sub(r"%\[\[\w+(:[^\]]*(\[[^\]]*\])?[^\]]*)?\]\]", "%_", line)
    return re.sub(r"%[\w#]+(:\d+)?", "%_", line)


def strip_check(line):
    match = re.match(r"//\s*[A-Z0-9_-]*CHECK(?:-[A-Z]+)?:\s*(.*)", line)
    return match.group(1) if match else None


def as_regex(check):
    """A FileCheck line as a regular expression: {{re}} and [[X:re]] are that, [[X]] is any word."""
    pieces = re.split(r"(\{\{.*?\}\}|\[\[.*?\]\](?!\]))", check)
    def translate(piece):
        if piece.startswith("{{"):
            return f"(?:{piece[2:-2]})"
        if piece.startswith("[["):
            return f"(?:{piece[2:-2].split(':', 1)[1]})" if ":" in piece else r"\S+?"
        return re.escape(piece)
    return re.compile("".join(map(translate, pieces)))


def shown(line, part, checks):
    """Is the line a part of some input or CHECK line, or is it what some CHECK line matches?"""
    return (any(anonymous(line) in anonymous(candidate) for candidate in part)
            or part is checks and any(as_regex(check).search(line + " :") for check in checks if "[[#" not in check))


def pass_problems(flag, lines, tests):
    name = re.sub(r"^(attn|tile|warp)-", "", flag)
    files = [path for path in tests if os.path.basename(path) in (f"{name}.mlir", f"{flag}.mlir")]
    if not files:
        return [f"no test file {name}.mlir"]
    text = [line.strip() for path in files for line in open(path).read().splitlines()]
    inputs = [line for line in text if not line.startswith("//")]
    checks = [check for check in map(strip_check, text) if check]
    problems, part = [], None
    for line in lines:
        if line.startswith("// Before"):
            part = inputs
        elif line.startswith("// After"):
            part = checks
        elif line.startswith("//") or line == "...":
            continue
        elif part is None:
            problems.append(f"`{line}` stands under neither `// Before` nor `// After`")
        elif not shown(line, part, checks):
            where = "input" if part is inputs else "CHECK line"
            problems.append(f"`{line}` is no {where} of {name}.mlir")
    return problems


def problems_of(root):
    tests = glob.glob(os.path.join(root, "test/**/*.mlir"), recursive=True)
    for td in sorted(glob.glob(os.path.join(root, "dialects/*/*.td"))):
        level = os.path.basename(os.path.dirname(td))
        op_tests = [[line.strip() for line in open(path).read().splitlines()]
                    for path in tests if f"/Dialect/{level}/" in path]
        for mnemonic, flag, lines in examples(open(td).read()):
            place = os.path.relpath(td, root)
            if flag:
                yield from (f"{place}: {flag}: {problem}" for problem in pass_problems(flag, lines, tests))
            elif not any(contains(text, lines) for text in op_tests):
                yield (f"{place}: the example of {level.lower()}.{mnemonic} stands in no test/Dialect/{level}/*.mlir: "
                       f"`{lines[0]}`")


def main():
    problems = list(problems_of(sys.argv[1]))
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
