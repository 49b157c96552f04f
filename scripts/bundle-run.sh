#!/usr/bin/env bash
# Run flashc on this machine's GPU: correctness, then timing beside torch. Needs an NVIDIA driver; timing beside torch
# needs python3 with torch. Results go to the folder given, by default results/ here.
#
# usage: run.sh [--sanitize] [--no-timing] [RESULTS]
#   --sanitize   also run the tests under compute-sanitizer (memcheck and racecheck), which takes minutes; racecheck was
#                not yet tried on the sm_90a kernels, whose copies and barriers are asynchronous
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

# run_one OUTPUT TEST: one test case in a process of its own, under $under.
run_one() {
  local output=$1 test=$2 start=$SECONDS verdict=FAILED filter
  filter=$(printf %s "$test" | sed 's/[],[]/\\&/g') # Catch2's own signs
  # A filter that matches nothing also exits 0, so the sum at the end is asked for as well.
  $under "$bin/flashc-gpu-tests" "$filter" > "$output" 2>&1 && grep -q '^All tests passed' "$output" && verdict=passed
  grep -q '^skipped' "$output" && verdict=skipped
  echo "verdict: $verdict" >> "$output"
  echo "$verdict ($((SECONDS - start)) s): $test"
}
export -f run_one
export bin under

# run_tests NAME [COMMAND...]: every test case, under the command; outputs go to $results/NAME. Several run beside each
# other, since the driver compiles one kernel at a time in a process.
run_tests() {
  local folder=$results/$1 number=0 failed
  under=${*:2}
  rm -rf "$folder"
  mkdir -p "$folder"
  "$bin/flashc-gpu-tests" --list-test-names-only | sed '/^$/d' > "$folder/names" || true
  [ -s "$folder/names" ] || { echo "run.sh: $bin/flashc-gpu-tests lists no tests" >&2; return 1; }
  while IFS= read -r test; do
    number=$((number + 1))
    printf '%s\0%s\0' "$folder/$number.txt" "$test"
  done < "$folder/names" | xargs -0 -n 2 -P "$(($(nproc) / 2 + 1))" bash -c 'run_one "$@"' run_one
  failed=$(grep -l '^verdict: FAILED' "$folder"/*.txt) || true
  [ -z "$failed" ] || cat $failed
  grep -h '^verdict' "$folder"/*.txt | sort | uniq -c
  grep -h -o -E "(ERROR|RACECHECK) SUMMARY: .*" "$folder"/*.txt | sort | uniq -c || true
  [ -z "$failed" ]
}

status=0
echo "== correctness"
run_tests gpu-tests || status=1

if [ "$sanitize" = yes ]; then
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  for tool in memcheck racecheck; do
    echo "== compute-sanitizer $tool"
    run_tests "$tool" "$sanitizer" --tool "$tool" --error-exitcode 1 || status=1
  done
fi

if [ "$timing" = yes ]; then
  echo "== timing"
  if python3 -c 'import torch' 2>/dev/null; then
    python3 "$here/benchmarks/compare.py" --bench "$bin/flashc-bench" \
      --csv "$results/timing.csv" --markdown "$results/timing.md" || status=1
    if python3 -c 'import sys, torch; sys.exit(torch.cuda.get_device_capability() != (9, 0))'; then
      for dtype in fp16 bf16; do
        python3 "$here/benchmarks/compare.py" --bench "$bin/flashc-bench" --arch sm_90a --against best \
          --dims 64,128,256 --dtypes "$dtype" --csv "$results/timing-sm90a-$dtype.csv" \
          --markdown "$results/timing-sm90a-$dtype.md" || status=1
      done
    fi
  else
    echo "skipped: timing beside torch (python3 finds no torch)"
  fi
fi
exit $status
