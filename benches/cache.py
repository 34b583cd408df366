#!/usr/bin/env python3
"""The row-group cache against its peer, on one machine in one run: python3 benches/cache.py [OPTIONS].

Five days are built from renumbered copies of the bundled replays, and an epoch of truncated backpropagation over
their lanes is replayed, in a shuffled order and in that of the files, under a capacity of a third of the dense data:

* the source design's cache in pyarrow and numpy (peers/row_group_cache.py);
* Foldline's, whose batches get all their padding, as the peer's have it;
* Foldline's as it gives rows, without padding;
* Foldline's under a third of what the data takes in *its* form, so that it has to evict as the peer has.

Then batches are compared with the peer's, byte for byte. The report is printed, and written to cache.json and
cache.md. Exit status: 0 done, 1 batches differ or a step failed, 2 usage, 5 a file is missing, 130 stopped.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from measure import measure
from report import median, row
from run import carry_out, machine, say

ROOT = Path(__file__).resolve().parent.parent
PEERS = Path(__file__).parent / "peers"
DATA = ROOT / "tests/data/tcg"
REPLAYS = [DATA / f"replays/2026-11-{day}.zip" for day in (21, 23)]
CARDS = ["--cards", DATA / "cards/cards_v2.tsv", "--attacks", DATA / "cards/attacks_v2.tsv"]
ORDERS = ("shuffled", "stored")
PEER, DENSE, RAGGED, THIRD = "pyarrow + numpy", "Foldline, dense", "Foldline", "Foldline, a third of its form"


class Cache:
    """The days, the traces, and the caches over them."""

    def __init__(self, args):
        self.out, self.jobs = args.out / "cache", args.bin
        self.days = [self.out / f"days/2026-12-{day + 1:02}.parquet" for day in range(args.days)]
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)

    def make(self, copies, flush):
        """Builds the days and the traces, and plans for them."""
        for number, day in enumerate(self.days):
            archive = self.out / f"{day.stem}.zip"
            numbers = ["--copies", copies, "--first", copies * (number + 1)]
            self.helper("copy_replays", *REPLAYS, "-o", archive, *numbers)
            build = ["build", archive, "-o", self.out / "days", *CARDS, "--flush", flush]
            self.job("day-build", *build)
            archive.unlink()
        for order in ORDERS:
            self.helper("lanes", *self.days, "-o", self.trace(order), "--order", order)
        _, plan = self.job("cache-warm", "plan", *self.days, "--exact", "--json")
        return json.loads(plan)

    def trace(self, order):
        return self.out / f"{order}.trace"

    def peer(self, order, capacity, *options):
        return self.replayed(self.helper, "row_group_cache", order, capacity, *options)

    def ours(self, order, capacity, *options):
        return self.replayed(lambda _, *words: self.replay_job(*words), "", order, capacity, *options)

    def replayed(self, run, name, order, capacity, *options):
        """Runs a cache over a trace; its own cost is that of the replay, without the start of the program."""
        spill = self.out / "spill"
        where = ["--trace", self.trace(order), "--capacity", capacity, "--spill", spill]
        cost, output = run(name, *self.days, *where, *options)
        shutil.rmtree(spill, ignore_errors=True)
        said = json.loads(output)
        return cost | said | said.pop("counters", {})

    def compare(self, capacity):
        """How many batches are not the peer's."""
        counts = {}
        for order in ORDERS:
            dumps = [self.out / f"{name}-{order}" for name in ("ours", "peer")]
            self.ours(order, capacity, "--dense", "--dump", dumps[0])
            self.peer(order, capacity, "--dump", dumps[1])
            counts[order] = json.loads(self.helper("compare_batches", *dumps)[1])
            [shutil.rmtree(dump) for dump in dumps]
        return counts

    def replay_job(self, *arguments):
        return self.job("examples/replay", *arguments)

    def job(self, name, *arguments):
        return measure([self.jobs / name, *arguments], self.out / f"{Path(name).name}.log")

    def helper(self, name, *arguments):
        return measure([sys.executable, PEERS / f"{name}.py", *arguments], self.out / f"{name}.log")


def parse():
    """The command line."""
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], formatter_class=formatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "target/release", help="where the jobs lie")
    parser.add_argument("--out", type=Path, default=ROOT / "target/bench", help="where files and reports go")
    parser.add_argument("--days", type=int, default=5, help="days")
    parser.add_argument("--copies", type=int, default=2, help="copies of the replays in a day")
    parser.add_argument("--flush", type=int, default=24, help="episodes of a row group")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions")
    return parser.parse_args()


def bench(args):
    """The whole benchmark; returns the report."""
    args.out.mkdir(parents=True, exist_ok=True)
    report = {"machine": machine(args.out), "repeat": args.repeat}
    cache = Cache(args)
    say(f"building {args.days} days")
    report["plan"] = plan = cache.make(args.copies, args.flush)
    capacity, third = plan["dense_bytes"] // 3, plan["bytes"] // 3
    report["capacity"], report["third"] = capacity, third
    steps = {
        PEER: lambda order: cache.peer(order, capacity),
        DENSE: lambda order: cache.ours(order, capacity, "--dense"),
        RAGGED: lambda order: cache.ours(order, capacity),
        THIRD: lambda order: cache.ours(order, third),
    }
    report["runs"] = {order: {name: [] for name in steps} for order in ORDERS}
    for n in range(1, args.repeat + 1):
        for order in ORDERS:
            for name, step in steps.items():
                run = step(order)
                report["runs"][order][name].append(run)
                say(f"repetition {n}/{args.repeat}  {order:<9} {name:<30} cpu {run['cpu_s']:8.3f} s  wall {run['wall_s']:8.3f} s")
    say("comparing batches with the peer's")
    report["compared"] = cache.compare(capacity)
    return report


def lines(report):
    """The report as lines of Markdown, which read well on a terminal too."""
    facts, plan = report["machine"], report["plan"]
    mib = 1 << 20
    yield f"One run on one machine: {facts['cpu']}, {facts['cpus']} cores, load {facts['load']:.1f} at first."
    yield f"{plan['rows']} rows in {plan['row_groups']} row groups of {len(plan['datasets'])} days: {plan['dense_bytes'] / mib:.0f} MiB dense,"
    yield f"{plan['bytes'] / mib:.0f} MiB as Foldline holds them. Capacity {report['capacity'] / mib:.0f} MiB; a third of its form is {report['third'] / mib:.0f} MiB."
    yield f"Medians of {report['repeat']} repetitions."
    yield ""
    yield row("order", "cache", "CPU s", "wall s", "peak MiB")
    yield row("---", "---", "---:", "---:", "---:")
    figures = {order: {name: numbers(runs) for name, runs in of.items()} for order, of in report["runs"].items()}
    for order, caches in figures.items():
        for name, run in caches.items():
            yield row(order, name, f"{run['cpu_s']:.3f}", f"{run['wall_s']:.3f}", f"{run['peak_bytes'] / mib:.0f}")
    yield ""
    yield row("order", "cache: accesses", "hits", "from disk", "decodes")
    yield row("---", "---", "---:", "---:", "---:")
    for order, caches in figures.items():
        for name, run in caches.items():
            accesses = run["hits"] + run["misses"]
            shares = (f"{run[key] / accesses:.3f}" for key in ("hits", "ssd_hits", "decodes"))
            yield row(order, f"{name}: {accesses:.0f}", *shares)
    yield ""
    yield row("order", "ratio of an epoch", "CPU", "wall", "")
    yield row("---", "---", "---:", "---:", "---")
    for order, caches in figures.items():
        for name in (DENSE, RAGGED, THIRD):
            ratios = (f"{caches[PEER][key] / caches[name][key]:.1f}" for key in ("cpu_s", "wall_s"))
            yield row(order, f"{PEER} / {name}", *ratios, "")
    yield ""
    groups = plan["row_groups"]
    dense = min(groups, report["capacity"] * groups / plan["dense_bytes"])
    ragged = report["capacity"] * groups / plan["bytes"]
    yield f"Row groups in the same memory: {dense:.1f} dense, room for {ragged:.1f} as Foldline holds them: {ragged / dense:.1f} times as many."
    for order, compared in report["compared"].items():
        verdict = "equal" if not compared["differ"] else f"{compared['differ']} NOT EQUAL"
        yield f"{compared['batches']} batches, {order}, against the peer's: {verdict}."


def numbers(runs):
    return median([{key: value for key, value in run.items() if isinstance(value, int | float)} for run in runs])


def main():
    args = parse()
    needed = (*(args.bin / job for job in ("day-build", "cache-warm", "examples/replay")), *REPLAYS)

    def is_equal(report):
        return not any(compared["differ"] for compared in report["compared"].values())

    return carry_out(args, needed, bench, "The row-group cache", "cache", lines, is_equal)


if __name__ == "__main__":
    sys.exit(main())
