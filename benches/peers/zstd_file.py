#!/usr/bin/env python3
"""Compress a file with zstd at level 1, where no `zstd` command is installed (needs pyarrow).

Prints one JSON line with the CPU and wall seconds of the compression alone, without Python's start.
"""

import argparse
import json
import time

import pyarrow as pa

PIECE = 1 << 20


def compress(source, target):
    """Streams the file through zstd, a MiB at a time, at pyarrow's own level, which is checked to be 1."""
    if pa.Codec.default_compression_level("zstd") != 1:
        raise SystemExit("this pyarrow does not compress at level 1 of zstd by default")
    with (
        pa.OSFile(source, "rb") as reader,
        pa.CompressedOutputStream(pa.OSFile(target, "wb"), "zstd") as writer,
    ):
        while piece := reader.read_buffer(PIECE):
            writer.write(piece)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args()
    cpu, wall = time.process_time(), time.perf_counter()
    compress(args.source, args.target)
    cost = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    print(json.dumps({key: round(seconds, 3) for key, seconds in cost.items()}))


if __name__ == "__main__":
    main()
