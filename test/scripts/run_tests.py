#!/usr/bin/env python3
"""Run every test of a build folder, lit and Catch2 and those of the PyTorch bridge, and add up the results.

usage: run_tests.py BUILD_DIR [--release RELEASE_BUILD_DIR] [--torch VENV] [-j N] [CATCH2_ARGUMENT...]

With --release the lit tests under Release/, which look at the self-contained binaries, run on that build. With --torch
those of integrations/torch run, by the Python of that environment; "" skips them, each by name.

The last line is `N passed, N failed, N skipped`. Exits 1 when a test failed, when a program ended before it had
reported, or when nothing ran at all. Skipped tests are listed by name.
"""

import argparse
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIT_FAILURES = {"FAIL", "XPASS", "TIMEOUT", "UNRESOLVED"}
LIT_SKIPS = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


class Totals:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def run_lit(build, jobs, selection):
    """Run the lit suite; its own output goes to the terminal, the counts come from its JSON file."""
    totals = Totals()
    site = os.path.join(build, "test")
    lit = re.search(r"^FLASHC_LIT:FILEPATH=(.*)$", open(os.path.join(build, "CMakeCache.txt")).read(), re.M).group(1)
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "lit.json")
        subprocess.run([sys.executable, lit, "-sv", f"-j{jobs}", "-o", result, *selection, site], check=False)
        if not os.path.exists(result):
            totals.failed.append("lit: ended without a result")
            return totals
        tests = json.load(open(result))["tests"]
    for test in tests:
        if test["code"] in LIT_FAILURES:
            totals.failed.append(test["name"])
        elif test["code"] in LIT_SKIPS:
            totals.skipped.append(test["name"])
        else:
            totals.passed += 1
    return totals


def describe_failures(case):
    """What a person needs of each failed check: the place, what was asked, what was found, and the INFO lines."""
    information = []
    for node in case.iter():
        if node.tag == "Info":
            information.append(node.text.strip())
        elif node.tag == "Expression" and node.get("success") == "false":
            yield (f"  {node.get('filename')}:{node.get('line')}: {node.findtext('Original').strip()}\n"
                   f"    is {node.findtext('Expanded').strip()}\n")
            for exception in node.findall("Exception") + node.findall("FatalErrorCondition"):
                yield f"    {exception.tag}: {exception.text.strip()}\n"
        elif node.tag in ("Failure", "Exception", "FatalErrorCondition") and node.get("filename"):
            yield f"  {node.get('filename')}:{node.get('line')}: {node.tag}: {(node.text or '').strip()}\n"
    for line in information:
        yield f"    with {line}\n"


def run_catch(executable, arguments):
    """Run one Catch2 program; returns its output and counts. A test case that prints `skipped: NAME: reason` (version 2)
    or is skipped (version 3) counts as skipped."""
    totals = Totals()
    name = os.path.basename(executable)
    with tempfile.TemporaryDirectory() as folder:
        result = os.path.join(folder, "result.xml")
        run = subprocess.run([executable, "-r", "xml", "-o", result] + arguments, check=False, text=True,
                             errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = open(result).read() if os.path.exists(result) else ""
    report = ""
    cases = re.findall(r"<TestCase .*?</TestCase>", text, re.S)
    for case in cases:
        root = ElementTree.fromstring(case)
        case_name = f"{name}: {root.get('name')}"
        overall = root.find("OverallResult")
        said = "".join(node.text or "" for node in root.iter("StdOut"))  # the XML reporter keeps what a test prints
        if f"skipped: {root.get('name')}: " in said or int(overall.get("skips", "0")) > 0:
            totals.skipped.append(case_name)
        elif overall.get("success") == "true":
            totals.passed += 1
        else:
            totals.failed.append(case_name)
            report += f"{case_name}\n" + "".join(describe_failures(root))
    finished = "<OverallResultsCases" in text or "<OverallResults " in text.rsplit("</TestCase>", 1)[-1]
    if not finished:
        totals.failed.append(f"{name}: ended with {run.returncode} in the middle")
    elif run.returncode != 0 and not totals.failed:
        totals.failed.append(f"{name}: ended with {run.returncode}")
    return run.stdout + report, totals


def run_python(program, venv, build):
    """Run one test program of the bridge; its last lines name and count (integrations/torch/tests/support.py)."""
    totals = Totals()
    name = os.path.basename(program)
    if not venv:
        totals.skipped.append(f"{name} (torch is not installed)")
        return "", totals
    environment = dict(os.environ, PYTHONPATH=os.path.abspath(os.path.join(build, "integrations", "torch", "python")))
    run = subprocess.run([os.path.join(venv, "bin", "python"), program], check=False, text=True, errors="replace",
                         env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    totals.skipped = re.findall(r"^skipped: (.*)$", run.stdout, re.M)
    totals.failed = re.findall(r"^FAILED: (.*)$", run.stdout, re.M)
    count = re.search(r"^(\d+) passed, \d+ failed, \d+ skipped\s*\Z", run.stdout, re.M)
    if count:
        totals.passed = int(count.group(1))
    if not count or (run.returncode != 0 and not totals.failed):
        totals.failed.append(f"{name}: ended with {run.returncode}")
    return run.stdout if totals.failed else "", totals


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--release")
    parser.add_argument("--torch")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1)
    options, catch_arguments = parser.parse_known_args()
    if options.release:
        totals = run_lit(options.build, options.j, ["--filter-out", ":: Release/"])
        totals.add(run_lit(options.release, options.j, ["--filter", ":: Release/"]))
    else:
        totals = run_lit(options.build, options.j, [])

    names = open(os.path.join(options.build, "test", "unittests.txt")).read().split()
    programs = [os.path.join(options.build, "bin", "unittests", name) for name in names]
    if options.torch is not None:
        programs += sorted(glob.glob(os.path.join(ROOT, "integrations", "torch", "tests", "test_*.py")))

    def run(program):
        if program.endswith(".py"):
            return run_python(program, options.torch, options.build)
        return run_catch(program, catch_arguments)

    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for program, (output, result) in zip(programs, pool.map(run, programs)):
            print(f"{os.path.basename(program)}: {result.passed} passed, {len(result.failed)} failed, "
                  f"{len(result.skipped)} skipped")
            sys.stdout.write(output)
            totals.add(result)

    for name in totals.skipped:
        print(f"skipped: {name}")
    for name in totals.failed:
        print(f"FAILED: {name}")
    print(f"{totals.passed} passed, {len(totals.failed)} failed, {len(totals.skipped)} skipped", flush=True)
    return 1 if totals.failed or totals.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
