#!/usr/bin/env bash
# Make a Python environment with the torch that the bridge's tests run with (integrations/torch/requirements.txt, from the
# package index that pip uses). Does nothing where it is made already. About 2.7 GB to download, 5 GB on disk.
#
# usage: torch-venv.sh FOLDER
set -euo pipefail
requirements=$(cd "$(dirname "$0")/.." && pwd)/integrations/torch/requirements.txt
venv=$1
cmp -s "$requirements" "$venv/requirements.txt" && exit 0
rm -rf "$venv"
python3 -m venv "$venv"
timeout 900 "$venv/bin/pip" install --quiet --no-compile --disable-pip-version-check --progress-bar off --retries 2 \
  -r "$requirements"
cp "$requirements" "$venv/requirements.txt" # last: the environment is whole
