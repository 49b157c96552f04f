#!/usr/bin/env python3
"""docs/Pipelines.md lists the passes that flashc-opt's pipelines run, in their order.

usage: check_pipelines.py DOCS_FILE FLASHC_OPT
"""

import re
import subprocess
import sys


def documented(text):
    """{pipeline: [pass flags]} of the tables, one a `## NAME`."""
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    return {section.split("\n", 1)[0].strip(): re.findall(r"^\| `([\w-]+)` \| \S", section, re.M) for section in sections}


def dumped(flashc_opt, pipeline):
    run = subprocess.run([flashc_opt, f"--{pipeline}", "--dump-pass-pipeline", "-"], input="module {}", check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    body = re.search(r"builtin\.module\((.*)\n\)", run.stderr, re.S).group(1)
    body = re.sub(r"\{[^{}]*\}", "", body)
    return re.findall(r"[\w-]+(?=\s*(?:,|\)|$))", body)


def main():
    docs, flashc_opt = sys.argv[1:3]
    wrong = False
    tables = documented(open(docs).read())
    registered = set(re.findall(r"^\s+--((?:attn|tile|warp)-to-\w+)\s", subprocess.run(
        [flashc_opt, "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout, re.M))
    if set(tables) != registered:
        print(f"{docs} has tables for {sorted(tables)}, but flashc-opt has {sorted(registered)}")
        wrong = True
    for pipeline in registered & set(tables):
        runs = dumped(flashc_opt, pipeline)
        if runs != tables[pipeline]:
            print(f"{docs}, {pipeline}: the table says\n  {' '.join(tables[pipeline])}\nbut it runs\n  {' '.join(runs)}")
            wrong = True
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
