#!/usr/bin/env python3
"""Make a large archive of replays out of small ones: every episode COPIES times, under numbers of its own."""

import argparse
import zipfile
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first copy")
    args = parser.parse_args()
    with zipfile.ZipFile(args.output, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for copy in range(args.first, args.first + args.copies):
            for source in map(zipfile.ZipFile, args.archives):
                for info in source.infolist():
                    if info.filename.endswith(".json") and "/" not in info.filename:
                        name = f"{int(info.filename[:-5]) + 1_000_000 * copy}.json"
                        out.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), source.read(info))


if __name__ == "__main__":
    main()
