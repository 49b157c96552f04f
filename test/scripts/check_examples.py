#!/usr/bin/env python3
"""Every pass of the ODS files has a test, and every ```mlir example is run by one.

usage: check_examples.py SOURCE_ROOT

* Each pass's flag stands in a RUN line.
* An op's example stands word for word (indentation apart) in some test of its dialect, test/Dialect/LEVEL/*.mlir.
* A pass's example is a sketch: types may be left out. In the pass's own test file (test/**/NAME.mlir, NAME being the
  flag without its level) each line under `// Before` stands in some line of input, and each line under `// After` in
  some CHECK line, or it is what one matches. An example without these two comments stands in the input. Value names
  are free, since FileCheck captures them, and so is how a number is spelled.
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


def head(line):
    """The line without its types and without the brace that opens a region."""
    return re.sub(r"( :.*| \{|,)$", "", line)


def spellings(line):
    """The head of an example's line, as it stands and with floats as MLIR prints them."""
    yield head(line)
    yield re.sub(r"(?<![\w.])\d+\.\d+(?![\w.])", lambda number: f"{float(number.group()):e}", head(line))


def shown(line, inputs, checks):
    """Is the line a part of some input or CHECK line, or what some CHECK line matches?"""
    return any(anonymous(spelling) in anonymous(candidate) for spelling in spellings(line) for candidate in inputs + checks) or any(
        as_regex(head(check)).search(spelling) for spelling in spellings(line) for check in checks if "[[#" not in check)


def pass_problems(flag, lines, tests):
    name = re.sub(r"^(attn|tile|warp|cpu)-", "", flag)
    files = [path for path in tests if os.path.basename(path) in (f"{name}.mlir", f"{flag}.mlir")]
    if not files:
        return [f"no test file {name}.mlir"]
    text = [line.strip() for path in files for line in open(path).read().splitlines()]
    inputs = [line for line in text if not line.startswith("//")]
    checks = [check for check in map(strip_check, text) if check]
    problems, before = [], True
    for line in lines:
        if line.startswith("// Before") or line.startswith("// After"):
            before = line.startswith("// Before")
        elif line.startswith("//") or line in ("...", "}"):
            continue
        elif not shown(line, *((inputs, []) if before else ([], checks))):
            where = "input" if before else "CHECK line"
            problems.append(f"`{line}` is no {where} of {name}.mlir")
    return problems


def problems_of(root):
    tests = glob.glob(os.path.join(root, "test/**/*.mlir"), recursive=True)
    runs = "\n".join(line for path in tests for line in open(path) if "RUN:" in line)
    for td in sorted(glob.glob(os.path.join(root, "dialects/*/*.td"))):
        level = os.path.basename(os.path.dirname(td))
        op_tests = [[line.strip() for line in open(path).read().splitlines()]
                    for path in tests if f"/Dialect/{level}/" in path]
        for flag in re.findall(r'Pass<"([\w-]+)"', open(td).read()):
            if not re.search(rf"--{flag}(?![\w-])", runs):
                yield f"{os.path.relpath(td, root)}: no test runs --{flag}"
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
