#!/usr/bin/env bash
# Run flashc on this machine's GPU: correctness, then timing beside torch. Needs an NVIDIA driver; timing beside torch
# needs python3 with torch. Results go to the folder given, by default results/ here.
#
# usage: run.sh [--sanitize] [--no-timing] [RESULTS]
#   --sanitize   also run the tests under compute-sanitizer (memcheck and racecheck), which takes minutes
#   --no-timing  correctness only
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sanitize=no timing=yes results=
for argument in "$@"; do
  case $argument in
    --sanitize) sanitize=yes ;;
    --no-timing) timing=no ;;
    -*) echo "run.sh: $argument is no option; there are --sanitize and --no-timing" >&2; exit 1 ;;
    *) results=$argument ;;
  esac
done
results=${results:-$here/results}
mkdir -p "$results"

bin=$here/bin
mkdir -p "$bin"
for packed in "$here"/packed/*.xz; do
  program=$bin/$(basename "$packed" .xz)
  [ "$program" -nt "$packed" ] && continue
  if command -v xz >/dev/null; then
    xz -dc "$packed" > "$program.part"
  else
    python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$packed" > "$program.part"
  fi
  chmod +x "$program.part"
  mv "$program.part" "$program"
done

status=0
echo "== correctness"
"$bin/flashc-gpu-tests" 2>&1 | tee "$results/gpu-tests.txt" || status=1

if [ "$sanitize" = yes ]; then
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  for tool in memcheck racecheck; do
    echo "== compute-sanitizer $tool"
    # Small problems of every kind: each access is checked, a hundred times slower.
    "$sanitizer" --tool "$tool" --error-exitcode 1 "$bin/flashc-gpu-tests" '[sanitizer]' 2>&1 |
      tee "$results/$tool.txt" || status=1
  done
fi

if [ "$timing" = yes ]; then
  echo "== timing"
  if python3 -c 'import torch' 2>/dev/null; then
    python3 "$here/benchmarks/compare.py" --bench "$bin/flashc-bench" \
      --csv "$results/timing.csv" --markdown "$results/timing.md" || status=1
  else
    echo "skipped: timing beside torch (python3 finds no torch)"
  fi
fi
exit $status
