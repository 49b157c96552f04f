"""Run a command with --schedule= the text of a file behind it.

usage: with_schedule.py SCHEDULE_FILE COMMAND...
"""
import subprocess
import sys

schedule = open(sys.argv[1]).read().strip()
sys.exit(subprocess.run([*sys.argv[2:], f"--schedule={schedule}"]).returncode)
