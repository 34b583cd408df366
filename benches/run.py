#!/usr/bin/env python3
"""Foldline against its peers, on one machine in one run: `./run bench`, or python3 benches/run.py [OPTIONS].

Each repetition takes these steps in turn, so that a busy machine is busy for all of them alike:

* `stream-write teacher`, then `fold-pack pack`: a teacher corpus to folded shards;
* the same fold in DuckDB, as plain and as tuned SQL, each on one thread and on all cores;
* zstd at level 1 over the stream that `fold-pack pack` reads: what mere compression of its input costs.

Then the peer's folds are compared with the shards, row for row. The report is printed, and written to
report.json and report.md. Exit status: 0 done, 1 the folds differ or a step failed, 2 usage, 5 a file is
missing, 130 stopped.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import sys
from pathlib import Path

from measure import Stop, measure
from report import equal, lines, mebibytes, summary
from steps import CPUS, Steps

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests/data/shogi/teacher_corpus.parquet"
FAILED, MISSING, STOPPED = 1, 5, 130


def say(message):
    """A line about the progress."""
    print(message, file=sys.stderr, flush=True)


def parse():
    """The command line."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=formatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "target/release", help="where the jobs lie")
    parser.add_argument("--out", type=Path, default=ROOT / "target/bench", help="where files and reports go")
    parser.add_argument("--copies", type=int, nargs="+", default=[8, 80], help="sizes, in copies")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions")
    args = parser.parse_args()
    if min(args.repeat, *args.copies) < 1:
        parser.error("--repeat and --copies must be 1 or more")
    return args


def machine(out):
    """What the figures are taken on, and below what peak memory they say nothing."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":", 1)[1].strip() for line in info.splitlines() if line.startswith("model name")]
    return {
        "cpu": names[0] if names else platform.processor() or platform.machine(),
        "cpus": CPUS,
        "system": f"{platform.system()} {platform.release()}",
        "load": os.getloadavg()[0],
        "floor": measure(["true"], out / "floor.log")[0],
    }


def versions(out):
    """What the peers are."""
    duckdb, pyarrow = (importlib.metadata.version(name) for name in ("duckdb", "pyarrow"))
    zstd = f"in pyarrow {pyarrow}"
    if shutil.which("zstd"):
        zstd = measure(["zstd", "-qV"], out / "zstd.log")[1].strip()
    return f"DuckDB {duckdb}; zstd {zstd}"


def repeat(sizes, times):
    """Runs every step at every size, over and over; returns the costs of each size, by step."""
    costs = [{name: [] for name, _ in steps.by_name()} for steps in sizes]
    for n in range(1, times + 1):
        for steps, kept in zip(sizes, costs, strict=True):
            for name, step in steps.by_name():
                cost = step()
                kept[name].append(cost)
                seconds = f"cpu {cost['cpu_s']:7.3f} s  wall {cost['wall_s']:7.3f} s"
                peak = f"peak {mebibytes(cost):7.1f} MiB"
                say(f"repetition {n}/{times}  x{steps.copies:<3} {name:<29} {seconds}  {peak}")
    return costs


def bench(args):
    """The whole benchmark; returns the report."""
    args.out.mkdir(parents=True, exist_ok=True)
    report = {"repeat": args.repeat, "machine": machine(args.out), "versions": versions(args.out)}
    sizes = [Steps(copies, args.out, args.bin) for copies in sorted(set(args.copies))]
    for steps in sizes:
        say(f"making a corpus of {steps.copies} copies")
        steps.make_corpus(CORPUS)
    costs = repeat(sizes, args.repeat)
    say("comparing every row with the peer's")
    measured = zip(sizes, costs, strict=True)
    report["sizes"] = [summary(steps, kept, steps.compare()) for steps, kept in measured]
    return report


def carry_out(args, needed, bench, title, name, lines, is_equal):
    """Runs a benchmark, prints its report and writes it to NAME.json and NAME.md; returns the exit status."""
    for path in needed:
        if not path.is_file():
            say(f"bench: {path} is missing (hint: cargo build --release --bins --examples, --bin)")
            return MISSING
    try:
        report = bench(args)
    except Stop as e:
        say(f"bench: {e}")
        return FAILED
    except KeyboardInterrupt:
        say("bench: stopped")
        return STOPPED
    text = "\n".join(lines(report))
    written = args.out / f"{name}.json", args.out / f"{name}.md"
    written[0].write_text(json.dumps(report, indent=1) + "\n")
    written[1].write_text(f"# {title}\n\n{text}\n")
    print(text)
    say(f"written: {written[0]}, {written[1]}")
    return 0 if is_equal(report) else FAILED


def main():
    args = parse()
    needed = (args.bin / "stream-write", args.bin / "fold-pack", CORPUS)

    def is_equal(report):
        return all(equal(fold) for size in report["sizes"] for fold in size["compared"].values())

    return carry_out(args, needed, bench, "Benchmark", "report", lines, is_equal)


if __name__ == "__main__":
    sys.exit(main())
