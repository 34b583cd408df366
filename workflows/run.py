"""Runs a workflow to its end, from wherever it stands: `run.py shogi [CONFIG] [-- OPTIONS OF SNAKEMAKE]`.

Whatever ended the last run, this is the one command: receipts whose data is gone or damaged are removed first, then
Snakemake makes what is missing or out of date, and the jobs find in the store what was computed before.
"""

import argparse
import datetime
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
# keys of a configuration that are paths, wherever they stand
PATHS = {"results", "store", "corpus", "games", "replays", "cards", "attacks", "effects", "engine"}
USAGE, MISSING, LOCKED = 2, 5, 6


def fail(code: int, what: str, where: object, hint: str) -> None:
    """Ends as the jobs do."""
    print(f"error: {what}\n  where    {where}\n  hint     {hint}", file=sys.stderr)
    sys.exit(code)


def absolute(value: object, folder: Path, key: str = "") -> object:
    """A configuration whose paths are absolute, and whose dates are text."""
    if isinstance(value, dict):
        return {name: absolute(inner, folder, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [absolute(inner, folder, key) for inner in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if key in PATHS and isinstance(value, str):
        return os.path.normpath(folder / Path(value).expanduser())
    return value


def read(path: Path) -> dict:
    """A user's configuration."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        fail(MISSING, "there is no such configuration", path, "workflows/*/config.yaml are examples")
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        fail(USAGE, f"no YAML: {error}", path, "workflows/*/config.yaml are examples")
    if not isinstance(config, dict) or not isinstance(config.get("results"), str):
        fail(USAGE, "the configuration names no `results`", path, "workflows/*/config.yaml are examples")
    return absolute(config, path.resolve().parent)


def store_of(config: dict, folder: str) -> str:
    """The store: of the environment, of the configuration, or the user's own."""
    if os.environ.get("FOLDLINE_STORE"):
        return os.path.abspath(Path(folder, os.environ["FOLDLINE_STORE"]))
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return config.get("store") or str(Path(cache, "foldline/store"))


def lock(results: Path) -> object:
    """Holds the results until this process ends, however it ends."""
    file = open(results / ".lock", "w", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fail(LOCKED, "another run works on these results", results, "wait for it to end")
    return file


def forget_what_is_gone(results: Path, store: str) -> None:
    """Removes receipts whose data is not there as it was."""
    if (results / "receipts").is_dir():
        command = ["spill-purge", "receipts", "receipts", "--store", store]
        done = subprocess.run(command, cwd=results, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(done.returncode)
        print(done.stdout, end="", file=sys.stderr)
    if not (results / "catalog.sqlite").exists():
        (results / "receipts/catalog.json").unlink(missing_ok=True)


def tell_what_failed(results: Path, since: float) -> None:
    """Prints the errors that jobs wrote to their logs; the engine only says which steps failed."""
    for log in sorted((results / "logs").glob("*.log")):
        text = log.read_text(encoding="utf-8", errors="replace")
        if log.stat().st_mtime >= since and "error: " in text:
            print(f"\n{log}:\n{text[text.index('error: ') :].rstrip()}", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(prog="run", description="Run a workflow to its end, from wherever it stands.")
    workflows = sorted(path.parent.name for path in HERE.glob("*/Snakefile"))
    parser.add_argument("workflow", choices=workflows)
    parser.add_argument("config", nargs="?", help="configuration [default: the bundled example]")
    parser.add_argument("--from", dest="folder", default=".", help="folder that the configuration's path is relative to")
    parser.add_argument("--profile", default="local", help="a folder of workflows/profiles [default: local]")
    parser.add_argument("engine", nargs="*", help="options of Snakemake, behind --")
    args = parser.parse_args()

    path = Path(args.folder) / args.config if args.config else HERE / args.workflow / "config.yaml"
    config = read(path)
    config["store"] = store_of(config, args.folder)
    results = Path(config["results"])
    results.mkdir(parents=True, exist_ok=True)
    held = lock(results)
    forget_what_is_gone(results, config["store"])
    effective = results / "config.yaml"
    effective.write_text(yaml.safe_dump(config, sort_keys=True), encoding="utf-8")

    started = time.time()
    command = [sys.executable, "-m", "snakemake", "--nolock", "--directory", str(results)]
    command += ["--snakefile", str(HERE / args.workflow / "Snakefile"), "--configfile", str(effective)]
    command += ["--profile", str(HERE / "profiles" / args.profile), *args.engine]
    code = subprocess.run(command).returncode
    if code != 0:
        tell_what_failed(results, started)
    elif (results / "report.html").exists():
        print(f"\n{args.workflow}: done in {time.time() - started:.1f} s\nreport: {results / 'report.html'}")
    held.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
