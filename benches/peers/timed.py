"""What a helper measures of itself: the work alone, without the start of Python."""

import json
import time


def timed(work, *arguments):
    """Does the work, and prints its CPU and wall seconds as a line of JSON."""
    cpu, wall = time.process_time(), time.perf_counter()
    work(*arguments)
    print(json.dumps({"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}))
