"""Runs a command and tells what it cost."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PEERS = Path(__file__).resolve().parent / "peers"


class Stop(Exception):
    """Ends the benchmark with a message and an exit status."""

    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


def measure(command, log):
    """Runs a command, its stderr into a log file; returns what it cost and what it wrote to stdout."""
    command = [str(word) for word in command]
    with open(log, "w+b") as errors, open(f"{log}.out", "w+b") as output:
        start = time.perf_counter()
        cost, status = wait(spawn(command, output, errors))
        cost["wall_s"] = time.perf_counter() - start
        output.seek(0)
        errors.seek(0)
        if status:
            tail = errors.read()[-2000:].decode(errors="replace").strip()
            raise Stop(f"exit status {status} from: {' '.join(command)}\n{tail}")
        return cost, output.read().decode()


def spawn(command, output, errors):
    """Starts a command."""
    try:
        # preexec_fn makes this a true fork: after a vfork, the default, the child's peak memory would be at
        # least that of this script
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, preexec_fn=lambda: None
        )
    except OSError as e:
        raise Stop(f"{command[0]} does not start: {e.strerror}") from e


def wait(child):
    """Waits for a child; returns its cost, without the wall seconds, and its exit status."""
    _, status, use = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    return {"cpu_s": use.ru_utime + use.ru_stime, "peak_bytes": use.ru_maxrss * unit}, child.returncode


def helper(script, *arguments):
    """The command line of one of the Python helpers."""
    return [sys.executable, PEERS / script, *arguments]


def measure_helper(log, script, *arguments):
    """Runs a helper that reports its own CPU and wall seconds, without Python's start; returns both."""
    cost, output = measure(helper(script, *arguments), log)
    own = json.loads(output)
    return {**cost, "cpu_s": own["cpu_s"], "wall_s": own["wall_s"]}, own
