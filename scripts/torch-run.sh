#!/usr/bin/env bash
# Run flashc in PyTorch on this machine: the tests of the bridge, the examples of the API, and a whole GPT-2 beside torch's
# own attention. Needs python3 with torch 2.10 or newer; on a GPU, its CUDA build. The bridge comes built for all of them;
# where it does not load, it is built anew with the machine's C++ compiler. Results go to the folder given, by default
# results-torch/ here.
#
# usage: run-torch.sh [--only=PARTS] [RESULTS]
#   --only=PARTS  of these, joined by commas, and nothing else:
#     tests       the bridge against torch
#     examples    C++, C, a CUDA graph over growing lengths, a kernel inside a program
#     latency     what one call costs the host
#     gpt2        a forward pass of GPT-2 medium at length 4096, in eager mode and as a CUDA graph
#     compiled    the same in bf16, with each block through torch.compile
#     bias        gradients with a learned bias beside FlexAttention
#     train       300 steps of GPT-2 small with each attention: losses, time of a step, memory
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
only=tests,examples,latency,gpt2,compiled,bias,train results=
for argument in "$@"; do
  case $argument in
    --only=*) only=${argument#--only=} ;;
    -*) echo "run-torch.sh: $argument is no option; there is --only=PARTS" >&2; exit 1 ;;
    *) results=$argument ;;
  esac
done
for part in ${only//,/ }; do
  case $part in
    tests|examples|latency|gpt2|compiled|bias|train) ;;
    *) echo "run-torch.sh: --only has '$part', but there are tests, examples, latency, gpt2, compiled, bias and train" >&2; exit 1 ;;
  esac
done
results=${results:-$here/results-torch}
mkdir -p "$results"
python=${PYTHON:-python3}

# wants PART: whether it is asked for.
wants() { [[ ,$only, == *,$1,* ]]; }

if [ ! -e "$here/lib/libflashc.so.0" ]; then
  "$python" -c 'import gzip, shutil, sys; shutil.copyfileobj(gzip.open(sys.argv[1]), open(sys.argv[2], "wb"))' \
    "$here/lib/libflashc.so.0.gz" "$here/lib/libflashc.so.0.part"
  mv "$here/lib/libflashc.so.0.part" "$here/lib/libflashc.so.0"
fi
ln -sf libflashc.so.0 "$here/lib/libflashc.so"

export PYTHONPATH=$here/python${PYTHONPATH:+:$PYTHONPATH}
export FLASHC_CACHE_DIR=${FLASHC_CACHE_DIR:-$(mktemp -d)}
status=0

if wants examples; then
  echo "== examples"
  for program in attention attention-c decode embed; do
    [ -x "$here/examples/$program" ] || continue
    if [ $program = embed ] && ! "$python" -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2> /dev/null; then
      echo "skipped: embed (no CUDA driver)"
      continue
    fi
    echo "$program:"
    timeout 100 "$here/examples/$program" || { echo "FAILED: $program ($?)"; status=1; }
  done
fi

if ! "$python" -c 'import torch; print("torch", torch.__version__, "with a GPU" if torch.cuda.is_available() else "without a GPU")'; then
  echo "skipped: all else ($python finds no torch)"
  exit $status
fi
if ! "$python" -c 'import flashc_torch' 2> "$results/import.txt"; then
  grep -h 'Error' "$results/import.txt" || true
  echo "the bridge as it comes does not load here; building it"
  "$here/torch/build.sh" "$here" "$here/python/flashc_torch" "$python"
  "$python" -c 'import flashc_torch'
fi

if wants tests; then
  echo "== tests"
  # Side by side: most of their time is the compilation of kernels.
  names=$(cd "$here/torch/tests" && ls test_*.py) pids=()
  for name in $names; do
    (cd "$here/torch/tests" && exec timeout 400 "$python" "$name" > "$results/$name.txt" 2>&1) &
    pids+=($!)
  done
  for name in $names; do
    code=0
    wait "${pids[0]}" || code=$?
    pids=("${pids[@]:1}")
    [ $code = 0 ] || { status=1; grep -v '^\.*$' "$results/$name.txt" | tail -n 60; }
    echo "$name: $(tail -n 1 "$results/$name.txt") (exit code $code; $(grep -o '^Ran .*' "$results/$name.txt" || true))"
  done
fi

if wants latency; then
  echo "== latency"
  timeout 100 "$python" "$here/benchmarks/torch_latency.py" | tee "$results/latency.md" || status=1
fi

# gpt2 NAME ARGUMENT...: the benchmark, as RESULTS/NAME.md and .csv.
gpt2() {
  timeout 300 "$python" "$here/benchmarks/torch_gpt2.py" --csv "$results/$1.csv" "${@:2}" 2> "$results/$1.txt" |
    tee "$results/$1.md" || { tail -n 5 "$results/$1.txt"; status=1; }
  grep -E '^(skipped|not compiled):' "$results/$1.txt" || true
}

if wants gpt2; then
  echo "== GPT-2 medium"
  gpt2 gpt2
fi
if wants compiled; then
  echo "== GPT-2 medium, compiled"
  gpt2 gpt2-compiled --compile --dtypes=bf16 --attention=eager,FlashAttention-2,cuDNN,flashc
fi
if wants bias; then
  echo "== learned bias"
  timeout 300 "$python" "$here/benchmarks/torch_bias.py" --csv "$results/bias.csv" 2> "$results/bias.txt" |
    tee "$results/bias.md" || { tail -n 5 "$results/bias.txt"; status=1; }
fi
if wants train; then
  echo "== GPT-2 small, trained"
  timeout 500 "$python" "$here/benchmarks/torch_train.py" --csv "$results/train.csv" --svg "$results/train.svg" \
    2> "$results/train.txt" | tee "$results/train.md" || { tail -n 5 "$results/train.txt"; status=1; }
fi
exit $status
