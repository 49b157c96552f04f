"""A file of tuned schedules with one entry: f16, d 128, causal, lengths to 8192, on an H200.

usage: make_tuned.py SCHEDULE_FILE OUTPUT
"""
import json
import subprocess
import sys

versions = subprocess.run(["flashc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
entry = {"arch": "sm_90a", "gpu": "NVIDIA H200", "sram": 232448, "alignment": 16, "head_dim": 128, "value_head_dim": 128,
         "dtype": "f16", "mask": "causal", "score": "none", "kv_lengths": False, "length_class": 8192,
         "compiler": versions, "schedule": open(sys.argv[1]).read().strip(), "problem": "a test", "milliseconds": 1.5,
         "model_milliseconds": 1.75}
with open(sys.argv[2], "w") as out:
    json.dump({"format": "flashc-tuned-1", "entries": [entry]}, out)
