#!/usr/bin/env bash
# Format all C++ files, or with --check say which are not formatted. Another
# major version of clang-format formats differently, so only 22 will do.
set -euo pipefail
cd "$(dirname "$0")/.."
formatter=$(command -v clang-format-22 || true)
if [ -z "$formatter" ]; then
  echo "format: clang-format-22 is not installed; install the package clang-format-22" >&2
  exit 1
fi
arguments=(-i)
[ "${1:-}" = --check ] && arguments=(--dry-run --Werror)
find lib include tools test examples benchmarks integrations -name '*.cpp' -print -o -name '*.h' -print 2>/dev/null |
  xargs "$formatter" "${arguments[@]}"
