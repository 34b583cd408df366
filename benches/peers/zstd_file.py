#!/usr/bin/env python3
"""zstd at level 1 over a file, where no `zstd` command is installed (needs pyarrow): zstd_file.py IN OUT."""

import sys

import pyarrow as pa
from timed import timed

PIECE = 1 << 20


def compress(source, target):
    """Streams the file through zstd at the level that pyarrow has by default."""
    assert pa.Codec.default_compression_level("zstd") == 1
    with pa.OSFile(source) as reader, pa.CompressedOutputStream(target, "zstd") as writer:
        while piece := reader.read_buffer(PIECE):
            writer.write(piece)


if __name__ == "__main__":
    timed(compress, *sys.argv[1:])
