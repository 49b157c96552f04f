#!/usr/bin/env bash
# README command 2: install what is missing, build, and run every test. The last
# line is `N passed, N failed, N skipped`; exits 1 on a failure or when no test ran.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

scripts/bootstrap.sh
# torch comes over the network, beside the compilation. Where it does not come,
# the tests that need it are skipped by name.
venv=$PWD/build/torch-venv
mkdir -p build
scripts/torch-venv.sh "$venv" > build/torch-venv.log 2>&1 & pip=$!
cmake --preset dev >/dev/null
cmake --build --preset dev -j "$jobs"
cmake --preset release >/dev/null
cmake --build --preset release -t flashc-tools -j "$jobs"
if wait $pip; then
  cmake --preset dev -DFLASHC_TORCH_PYTHON="$venv/bin/python" >/dev/null
  cmake --build --preset dev -t flashc-torch -j "$jobs"
else
  venv=
  echo "test: torch could not be installed, so that nothing of integrations/torch is tested:" >&2
  tail -n 5 build/torch-venv.log >&2
fi
# All tests run on the development build, whose assertions are on; those that
# ask for the release binaries (REQUIRES: release) on these.
exec python3 test/scripts/run_tests.py build/dev --release build/release --torch "$venv" -j "$jobs"
