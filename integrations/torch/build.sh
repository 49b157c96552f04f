#!/usr/bin/env bash
# Build the bridge where there is no CMake: one compiler call with the torch of a Python.
#
# usage: build.sh FLASHC PACKAGE [PYTHON]
#   FLASHC    a folder with include/flashc and lib/libflashc.so
#   PACKAGE   the folder flashc_torch that gets libflashc_torch.so
#   PYTHON    a Python that has torch 2.10 or newer; python3
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
flashc=$(cd "$1" && pwd) package=$2 python=${3:-python3}
compiler=${CXX:-$(command -v c++ || command -v g++ || command -v clang++ || true)}
[ -n "$compiler" ] || { echo "build.sh: there is no C++ compiler; install one or set CXX" >&2; exit 1; }
torch=$("$python" -c "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])")
# As in CMakeLists.txt: the oldest torch is 2.10.
"$compiler" -std=c++20 -O2 -shared -fPIC -fvisibility=hidden -DTORCH_TARGET_VERSION=0x020a000000000000 \
  -I "$flashc/include" -isystem "$torch/include" "$here"/*.cpp -o "$package/libflashc_torch.so" \
  "$torch/lib/libtorch_cpu.so" "$flashc/lib/libflashc.so" -ldl \
  -Wl,-rpath,'$ORIGIN/../../lib' -Wl,-rpath,"$flashc/lib"
