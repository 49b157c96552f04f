#!/usr/bin/env bash
# README command 1: install what is missing, build the self-contained binaries,
# and run attention on Q, K and V from files: on the CPU, and on the GPU where
# there is one. Each run is compared with an fp64 reference.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/bootstrap.sh
cmake --preset release >/dev/null
cmake --build --preset release -t flashc-tools -j "$(nproc)"

bin=build/release/bin
data=build/main-job
python3 scripts/make_inputs.py "$data"

run() {
  echo "\$ $*"
  "$@"
}
job=(--layout=bshd --mask=causal --q "$data/q.npy" --k "$data/k.npy" --v "$data/v.npy" --check --time)
run $bin/flashc-run --target=cpu "${job[@]}" -o "$data/o.npy" --lse "$data/lse.npy"
if [ -e /dev/nvidiactl ]; then
  run $bin/flashc-run --target=cuda "${job[@]}" -o "$data/o-cuda.npy" --lse "$data/lse-cuda.npy"
else
  echo "no GPU here: the PTX is made, and not run"
  run $bin/flashc --arch=sm_80 --head-dim=64 --dtype=f16 --heads=8 --kv-heads=2 --mask=causal --explain -o "$data/forward.ptx"
fi
python3 scripts/show_npy.py "$data"/o*.npy "$data"/lse*.npy
