#!/usr/bin/env python3
"""Foldline against its peers, on one machine in one run: `./run bench`, or python3 benches/run.py [OPTIONS].

Each repetition takes these steps in turn, at every size of corpus, so that a busy machine is busy for all of
them alike:

* `stream-write teacher`, then `fold-pack pack`: a teacher corpus to folded shards;
* the same fold as one SQL statement in DuckDB, on one thread (its least CPU) and on as many as Foldline has;
* zstd at level 1 over the stream that `fold-pack pack` reads: what a mere compression of its input costs.

Then the peer's fold is compared with the shards, row for row. Medians are printed and written to report.json
and report.md in the folder of the benchmark. Exit status: 0 done, 1 the folds differ or a step failed, 2
usage, 5 a file is missing, 130 stopped.

CPU seconds are user + system time. Those of the DuckDB peer leave Python's start out; those of the jobs are
the whole process. Peak memory is the kernel's figure for the whole process, the pages of mapped files
included. A process inherits the size of the one that started it, so this script stays small: it loads no
library, forks, and states what floor that leaves.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from measure import Stop, measure
from report import lines, mebibytes, summary
from steps import Steps

ROOT = Path(__file__).resolve().parent.parent
FAILED, MISSING, STOPPED = 1, 5, 130


def say(message):
    """A line about the progress."""
    print(message, file=sys.stderr, flush=True)


def parse():
    """The command line."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=formatter)
    folder = {"metavar": "DIR", "type": Path}
    number = {"metavar": "N", "type": int}
    corpus = ROOT / "tests/data/shogi/teacher_corpus.parquet"
    parser.add_argument("--bin", **folder, default=ROOT / "target/release", help="where the jobs lie")
    parser.add_argument("--corpus", metavar="FILE", type=Path, default=corpus, help="what is copied")
    parser.add_argument("--out", **folder, default=ROOT / "target/bench", help="where files and reports go")
    parser.add_argument(
        "--copies", **number, nargs="+", default=[8, 80], help="sizes, in copies of the corpus"
    )
    parser.add_argument("--repeat", **number, default=3, help="repetitions")
    parser.add_argument("--threads", **number, default=cpus(), help="threads for Foldline")
    args = parser.parse_args()
    if min(args.repeat, args.threads, *args.copies) < 1:
        parser.error("--repeat, --threads and --copies must be 1 or more")
    return args


def cpus():
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def machine(out):
    """What the figures are taken on, and below what peak memory they say nothing."""
    return {
        "cpu": cpu_name(),
        "cpus": cpus(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "floor": measure(["true"], out / "floor.log")[0],
    }


def cpu_name():
    """The processor, as its maker calls it where the system tells."""
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def zstd_version():
    """Which zstd is the baseline."""
    if not (zstd := shutil.which("zstd")):
        return "no command installed, so the library in pyarrow (level 1, streaming)"
    return "the command, " + subprocess.check_output([zstd, "-qV"], text=True).strip()


def shown(path):
    """A path as a message names it."""
    path = Path(path).resolve()
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def check(args):
    """Refuses to start where a file is missing."""
    for path, hint in (
        (args.bin / "stream-write", "cargo build --release"),
        (args.bin / "fold-pack", "cargo build --release"),
        (args.corpus, "--corpus FILE"),
    ):
        if not path.is_file():
            raise Stop(f"{shown(path)} is missing (hint: {hint})", MISSING)


def repeat(sizes, times):
    """Runs every step at every size, over and over; returns the costs of each size, by step."""
    costs = [{name: [] for name in steps.all()} for steps in sizes]
    for n in range(times):
        for steps, kept in zip(sizes, costs, strict=True):
            for name, step in steps.all().items():
                cost = step()
                kept[name].append(cost)
                say(
                    f"repetition {n + 1}/{times}  x{steps.copies:<3} {name:<13} cpu {cost['cpu_s']:7.3f} s  "
                    f"wall {cost['wall_s']:7.3f} s  peak {mebibytes(cost):>7} MiB"
                )
    return costs


def run(args):
    """The whole benchmark; returns the report."""
    check(args)
    args.out.mkdir(parents=True, exist_ok=True)
    sizes = [Steps(n, args.out / f"x{n}", args.bin, args.threads) for n in sorted(set(args.copies))]
    for steps in sizes:
        if steps.make_corpus(args.corpus):
            say(f"made a corpus of {steps.copies} copies: {shown(steps.corpus)}")
    report = {
        "repeat": args.repeat,
        "threads": args.threads,
        "machine": machine(args.out),
        "zstd": zstd_version(),
        "sizes": [],
    }
    for steps, costs in zip(sizes, repeat(sizes, args.repeat), strict=True):
        say(f"x{steps.copies}: comparing every row with the peer's")
        report["sizes"].append(summary(steps, costs, steps.compare()))
    return report


def main():
    args = parse()
    try:
        report = run(args)
    except Stop as e:
        say(f"bench: {e}")
        return e.status
    except KeyboardInterrupt:
        say("bench: stopped")
        return STOPPED
    text = "\n".join(lines(report))
    (args.out / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    (args.out / "report.md").write_text(f"# Benchmark\n\n{text}\n")
    print(text)
    say(f"written: {shown(args.out / 'report.json')}, {shown(args.out / 'report.md')}")
    return 0 if all(size["compared"]["equal"] for size in report["sizes"]) else FAILED


if __name__ == "__main__":
    sys.exit(main())
