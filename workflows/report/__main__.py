"""Turns the receipts of a workflow run into one HTML page with plots; needs nothing but Python.

  python3 workflows/report RESULTS_DIR -o report.html [--title NAME]

Receipts are the JSON files below RESULTS_DIR/receipts, or below RESULTS_DIR where it has no such folder. What
they say is all that the page says, and the same receipts give the same page. A receipt that cannot be used is
named on stderr and in the page. Exit code 0; 2 where the page cannot be written, 3 where no receipt is
usable, 5 where there is no such folder.

A new kind of receipt is a reader in readers/, named in run.py, and a section in sections/, named in its list.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from markup import clean
from page import page
from run import read_run


def write_whole(path: Path, text: str) -> None:
    """Writes a file that appears whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def main() -> int:
    about = "Turns the receipts of a workflow run into one HTML page."
    parser = argparse.ArgumentParser(prog="report", description=about)
    add = parser.add_argument
    add("results", type=Path, metavar="RESULTS_DIR", help="a run's folder, with its receipts in receipts/")
    add("-o", "--output", type=Path, required=True, metavar="HTML", help="where the page goes")
    add("--title", metavar="NAME", help="the page's title; the folder's name if left out")
    args = parser.parse_args()
    receipts = args.results / "receipts"
    folder = receipts if receipts.is_dir() else args.results
    if not folder.is_dir():
        return say(f"{folder}: there is no such folder", 5)
    run = read_run(folder)
    for name, why in run.refused:
        say(f"{folder / name}: not used: {why}")
    if not run.steps:
        return say(f"{folder}: no usable receipts", 3)
    try:
        write_whole(args.output, page(run, args.title or args.results.resolve().name or "Foldline"))
    except OSError as error:
        return say(f"{args.output}: it cannot be written: {error.strerror}", 2)
    return 0


def say(text: str, code: int = 0) -> int:
    """A message on stderr, and the exit code that goes with it."""
    print(f"report: {clean(text)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
