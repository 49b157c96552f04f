#!/usr/bin/env bash
# Run flashc on this machine's GPU: correctness, then timing beside other kernels. Needs an NVIDIA driver; the peers need
# python3 with torch (and JAX for Pallas), each is left out by name where it is missing. Results go to the folder given, by
# default results/ here.
#
# usage: run.sh [--sanitize] [--no-timing] [--only=PARTS] [--tests=REGEX] [RESULTS]
#   --sanitize    also run the tests under compute-sanitizer (memcheck and racecheck), which takes minutes
#   --tests=REGEX of the tests those alone whose name the extended regular expression matches
#   --no-timing   correctness only
#   --only=PARTS  of these, joined by commas, and nothing else (all of them take about ten minutes, half of it timing):
#     tests         correctness
#     sm80          the Ampere form beside torch's FlashAttention-2 and cuDNN
#     grid          (here and below, on Hopper) the papers' grid in fp16, beside Pallas too
#     bf16          the same in bf16
#     backward      gradients over the same grid beside cuDNN and FlashAttention-2, and what a fixed order of sums costs
#     mla           head dims 192 and 128
#     variants      windows and score functions beside FlexAttention
#     tune          the candidates of some kernels, the fastest of which go to RESULTS/tuned.json
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sanitize=no only=tests,sm80,grid,bf16,backward,mla,variants,tune tests=. results=
for argument in "$@"; do
  case $argument in
    --sanitize) sanitize=yes ;;
    --no-timing) only=tests ;;
    --only=*) only=${argument#--only=} ;;
    --tests=*) tests=${argument#--tests=} ;;
    -*) echo "run.sh: $argument is no option; there are --sanitize, --no-timing, --only=PARTS and --tests=REGEX" >&2; exit 1 ;;
    *) results=$argument ;;
  esac
done
for part in ${only//,/ }; do
  case $part in
    tests|sm80|grid|bf16|backward|mla|variants|tune) ;;
    *) echo "run.sh: --only has '$part', but there are tests, sm80, grid, bf16, backward, mla, variants and tune" >&2; exit 1 ;;
  esac
done

# wants PART: whether it is asked for.
wants() { [[ ,$only, == *,$1,* ]]; }

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
  # Where a test launches the same kernels thousands of times, a tool looks at the first launches, one of each at least.
  local command=$under launches=400
  case $under,$test in
    *racecheck*,*deterministic*) launches=40 ;;
    *racecheck*) launches=100 ;;
  esac
  case $under,$test in
    ?*,*repeats* | ?*,*replayed* | ?*,*"same bits"*) command+=" --launch-count $launches" ;;
  esac
  # A filter that matches nothing also exits 0, so the sum at the end is asked for as well.
  $command "$bin/flashc-gpu-tests" "$filter" > "$output" 2>&1 && grep -q '^All tests passed' "$output" && verdict=passed
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
  "$bin/flashc-gpu-tests" --list-test-names-only | sed '/^$/d' | grep -E -e "$tests" > "$folder/names" || true
  [ -s "$folder/names" ] || { echo "run.sh: $bin/flashc-gpu-tests lists no tests that match '$tests'" >&2; return 1; }
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
if wants tests; then
  echo "== correctness"
  run_tests gpu-tests || status=1
fi

if [ "$sanitize" = yes ]; then
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  for tool in memcheck racecheck; do
    echo "== compute-sanitizer $tool"
    run_tests "$tool" "$sanitizer" --tool "$tool" --error-exitcode 1 || status=1
  done
fi

# compare NAME ARGUMENT...: tables beside the peers, as RESULTS/NAME-TABLE.csv and .md.
compare() {
  local start=$SECONDS
  python3 "$here/benchmarks/compare.py" --bench "$bin/flashc-bench" --results "$results/$1" "${@:2}" || status=1
  echo "timing: $1 took $((SECONDS - start)) s"
}

# on_hopper: whether device 0 runs sm_90a, as the driver or torch says.
on_hopper() {
  [ "$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader --id=0 2>/dev/null)" = 9.0 ] ||
    python3 -c 'import sys, torch; sys.exit(torch.cuda.get_device_capability() != (9, 0))' 2>/dev/null
}

if wants sm80 || wants grid || wants bf16 || wants backward || wants mla || wants variants; then
  echo "== timing"
  if ! python3 -c 'import torch' 2>/dev/null; then
    echo "skipped: timing beside torch (python3 finds no torch)"
  else
    ! wants sm80 || compare timing-sm80
    tables=
    for part in grid backward mla variants; do
      ! wants "$part" || tables+=${tables:+,}$part
    done
    ! wants backward || tables+=,orders
    measured=$here/benchmarks/peers-measured/2026-11-29-h200-fa3-cudnn-fp16
    if ! on_hopper; then
      echo "skipped: timing of kernels with roles (the GPU is no Hopper)"
    else
      [ -z "$tables" ] || compare timing-sm90a-fp16 --arch sm_90a --against best --tables "$tables" --dims 64,128,256 \
        --peers fa2,cudnn,pallas --ratio-csv "$measured.csv,$measured-backward.csv"
      ! wants bf16 || compare timing-sm90a-bf16 --arch sm_90a --against best --dims 64,128,256 --dtypes bf16
    fi
  fi
fi

if wants tune; then
  echo "== tune"
  if on_hopper; then
    start=$SECONDS
    "$bin/flashc-bench" --tune --tuned="$results/tuned.json" --arch=sm_90a --dims=128 --seqs=8192 --candidates=16 \
      > "$results/tune.md" && cat "$results/tune.md" || status=1
    echo "tune: took $((SECONDS - start)) s"
  else
    echo "skipped: tuning (the GPU is no Hopper)"
  fi
fi
exit $status
