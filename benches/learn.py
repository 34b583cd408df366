#!/usr/bin/env python3
"""Does it learn? `./run learn`, or python3 benches/learn.py --bin DIR [OPTIONS].

The bundled games become days, and the trainer sees them on several seeds, each of which also draws other episodes to hold
out; with memory and without. For each run the policy's cross-entropy on held-out episodes is compared with
the better of two baselines: every legal action alike, and verbs by their frequency in training. The report is printed, and written to
report.json.

Exit status: 0 every run with memory is at least 10 % below, 1 one is not, 2 usage.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GAMES = ROOT / "tests/data/tcg"
DATES = ["2026-11-21", "2026-11-23"]
FULL = ["--epochs", "12", "--warmup", "40"]
SMALL = ["--width", "32", "--heads", "2", "--layers", "1", "--epochs", "12", "--learning-rate", "2e-3"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "target/release", help="folder of the jobs")
    parser.add_argument("--out", type=Path, default=ROOT / "results/learn", help="folder of days, runs and report")
    parser.add_argument("--seeds", type=int, default=3, help="seeds, from 0 on")
    parser.add_argument("--small", action="store_true", help="the small model, for minutes instead of hours")
    return parser.parse_args()


def build(options):
    """The days."""
    days = options.out / "days"
    archives = [GAMES / f"replays/{date}.zip" for date in DATES]
    command = [options.bin / "day-build", "build", *archives, "-o", days, "--flush", "5", *tables()]
    subprocess.run(command, check=True)
    return [days / f"{date}.parquet" for date in DATES]


def tables():
    return ["--cards", GAMES / "cards/cards_v2.tsv", "--attacks", GAMES / "cards/attacks_v2.tsv"]


def learn(options, days, seed, memory):
    """A run, and what its best checkpoint says of held-out episodes."""
    name = f"seed-{seed}{'' if memory else '-no-memory'}"
    run = options.out / name
    job = options.bin / "train-tbptt"
    if not (run / "metrics.json").exists():
        if list(run.glob("checkpoints/*.json")):
            command = [job, "resume", run]
        else:
            command = [job, "train", "--data", *days, *tables(), "--run-dir", run, "--seed", str(seed)]
            command += ["--validation-share", "0.2", *(SMALL if options.small else FULL)]
            command += [] if memory else ["--no-memory"]
        subprocess.run(command, check=True)
    said = subprocess.run([job, "eval", run, "--json"], check=True, capture_output=True, text=True)
    found = json.loads(said.stdout)
    metrics = found["metrics"]
    baseline = min(metrics["uniform"], found["verb_frequency"])
    return {
        "run": name,
        "seed": seed,
        "memory": memory,
        "step": found["step"],
        "rows": metrics["rows"],
        "uniform": metrics["uniform"],
        "verb_frequency": found["verb_frequency"],
        "policy": metrics["policy"],
        "top1_dedup": metrics["top1_dedup"],
        "below": 1 - metrics["policy"] / baseline,
    }


def main():
    options = arguments()
    days = build(options)
    runs = []
    print(f"{'run':<20}{'uniform':>9}{'verbs':>9}{'policy':>9}{'below':>9}{'top-1':>9}")
    for seed in range(options.seeds):
        for memory in (True, False):
            run = learn(options, days, seed, memory)
            runs.append(run)
            numbers = f"{run['uniform']:>9.4f}{run['verb_frequency']:>9.4f}{run['policy']:>9.4f}"
            print(f"{run['run']:<20}{numbers}{run['below']:>9.1%}{run['top1_dedup']:>9.1%}", flush=True)
    by_seed = {run["seed"]: run["policy"] for run in runs if not run["memory"]}
    gains = [by_seed[run["seed"]] - run["policy"] for run in runs if run["memory"]]
    spread = f"{min(gains):+.4f} to {max(gains):+.4f}"
    print(f"memory lowers the cross-entropy by {statistics.mean(gains):+.4f} ({spread} over {len(gains)} seeds)")
    (options.out / "report.json").write_text(json.dumps({"runs": runs, "memory_gains": gains}, indent=2))
    sys.exit(not all(run["below"] >= 0.1 for run in runs if run["memory"]))


if __name__ == "__main__":
    main()
