#!/usr/bin/env python3
"""Make a large teacher corpus out of a small one (needs pyarrow).

Copy 0 is the corpus. Every later copy takes two pieces off each board, another two in each, so that there are
nearly COPIES times as many boards. No king goes, and no piece that a move listed for the board starts from:
Foldline takes every record, though a check may appear. What goes hangs on board and copy alone, so that
boards equal in the corpus stay equal within a copy. A board that runs out of pairs (at 80 copies none does)
is repeated whole.
"""

import argparse
import functools
import itertools
import random
from collections import defaultdict

import pyarrow as pa
import pyarrow.parquet as pq
import sfen


class Board:
    """A board of the corpus, with the squares whose pieces may go."""

    def __init__(self, key, moves):
        placement, self.rest = key.split(" ", 1)
        self.cells = sfen.cells(placement)
        starts = {square(usi[:2]) for usi in moves if usi[1] != "*"}
        self.free = [
            i for i, cell in enumerate(self.cells) if cell not in (sfen.EMPTY, *"/Kk") and i not in starts
        ]

    def copy(self, number):
        """The board as it stands in a copy."""
        gone, cells = pairs(len(self.free)), list(self.cells)
        for piece in gone[number - 1] if 0 < number <= len(gone) else ():
            cells[self.free[piece]] = sfen.EMPTY
        return f"{sfen.text(cells)} {self.rest}"


def square(usi):
    """Where a square stands among the cells of a board."""
    column, rank = sfen.square(usi)
    return rank * len("........./") + column


@functools.cache
def pairs(pieces):
    """Every two of so many pieces, by index, in a random order: the copies from 1 take them in turn."""
    every = list(itertools.combinations(range(pieces), 2))
    random.Random(pieces).shuffle(every)
    return every


def scale(corpus, copies, out):
    """Writes the larger corpus, one row group a copy."""
    table = pq.read_table(corpus)
    rows = [text.rsplit(" ", 1) for text in table["sfen"].to_pylist()]
    moves = defaultdict(set)
    for (key, _), listed in zip(rows, table["cand"].to_pylist(), strict=True):
        moves[key].update(listed)
    boards = {key: Board(key, listed) for key, listed in moves.items()}
    column = table.schema.get_field_index("sfen")
    with pq.ParquetWriter(out, table.schema, compression="zstd") as writer:
        for number in range(copies):
            thinned = {key: board.copy(number) for key, board in boards.items()}
            sfens = pa.array(f"{thinned[key]} {move}" for key, move in rows)
            writer.write_table(table.set_column(column, table.schema.field(column), sfens))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("copies", type=int)
    parser.add_argument("out")
    args = parser.parse_args()
    scale(args.corpus, args.copies, args.out)


if __name__ == "__main__":
    main()
