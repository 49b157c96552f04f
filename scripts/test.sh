#!/usr/bin/env bash
# README command 2: install what is missing, build, and run every test. The last
# line is `N passed, N failed, N skipped`; exits 1 on a failure or when no test ran.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

scripts/bootstrap.sh
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$jobs"
cmake --preset release >/dev/null
cmake --build --preset release -t flashc-tools -j "$jobs"
# All tests run on the development build, whose assertions are on; those that
# ask for the release binaries (REQUIRES: release) on these.
exec python3 test/scripts/run_tests.py build/dev --release build/release -j "$jobs"
