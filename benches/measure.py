"""Runs a command and tells what it cost."""

import os
import subprocess
import sys
import time
from pathlib import Path


class Stop(Exception):
    """Ends the benchmark with a message."""


def measure(command, log):
    """Runs a command, its stderr into a file; returns what it cost and what it wrote to stdout.

    CPU is user + system seconds. The peak is the kernel's for the process, pages of mapped files included.
    """
    command = [str(word) for word in command]
    start = time.perf_counter()
    with open(log, "wb") as errors:
        # preexec_fn makes this a true fork: after a vfork, the default, the child's peak memory would be at
        # least that of this script
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=lambda: None
        )
        output = child.stdout.read()
        _, status, use = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        said = Path(log).read_text(errors="replace")[-2000:]
        raise Stop(f"exit status {child.returncode} from: {' '.join(command)}\n{said}")
    unit = 1 if sys.platform == "darwin" else 1024
    cost = {"cpu_s": use.ru_utime + use.ru_stime, "wall_s": wall, "peak_bytes": use.ru_maxrss * unit}
    return cost, output
