#!/usr/bin/env python3
"""Compare folds of the peer with Foldline's, row for row (needs duckdb and pyarrow).

The peer keeps boards as SFEN text and moves as USI text; the shards hold `packed` and move16 (docs/formats/
has both). `packed`, `ply`, `weight`, `mv` and `cp` must be equal, `value_z`, `value_q` and `prob` within
1e-6. The order of the rows does not count, nor that of the peer's candidates.

Prints a line of JSON for each of the peer's folds: how many rows and candidates Foldline has, and in how
many rows each column differs.
"""

import argparse
import functools
import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import sfen

HERE = Path(__file__).parent
APART = "create macro apart(a, b) as coalesce(abs(cast(a as double) - b) > 1e-6, true)"
PIECES = ["K", "R", "B", "G", "S", "N", "L", "P", "+R", "+B", "+S", "+N", "+L", "+P"]
HAND = "PLNSGBRplnsgbr"
WHITE = 0x10


def packed(board):
    """The 96 bytes of an SFEN without its number: 81 squares down the files from 9a, both hands, the side."""
    placement, side, hand = board.split(" ")
    by_rank = b"".join(map(packed_rank, placement.split("/")))
    by_file = b"".join(by_rank[column::9] for column in range(9))
    return by_file + packed_hands(hand) + bytes([side == "w"])


@functools.cache
def packed_rank(text):
    """One rank, a byte a square."""
    return bytes(
        0xFF if cell == sfen.EMPTY else PIECES.index(cell.upper()) | (WHITE if cell.islower() else 0)
        for cell in sfen.cells(text)
    )


@functools.cache
def packed_hands(text):
    """Black's seven counts, then White's."""
    counts, number = bytearray(len(HAND)), ""
    for c in text.strip("-"):
        if c.isdigit():
            number += c
        else:
            counts[HAND.index(c)], number = int(number or 1), ""
    return bytes(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shards", help="a pattern")
    parser.add_argument("peer", nargs="+")
    args = parser.parse_args()
    con = duckdb.connect()
    con.execute((HERE / "move16.sql").read_text())
    con.execute(APART)
    # those of the first will do: a board that only another fold has differs in any case
    boards = pq.read_table(args.peer[0], columns=["board"])
    bytes_of = pa.array(map(packed, boards["board"].to_pylist()), pa.binary())
    con.register("boards", boards.append_column("packed", bytes_of))
    for peer in args.peer:
        found = con.execute((HERE / "compare.sql").read_text(), {"shards": args.shards, "peer": peer})
        names = [column[0] for column in found.description]
        print(json.dumps(dict(zip(names, found.fetchone(), strict=True))))


if __name__ == "__main__":
    main()
