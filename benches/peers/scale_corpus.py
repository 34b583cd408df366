#!/usr/bin/env python3
"""Make a large teacher corpus out of a small one (needs pyarrow).

Copy 0 is the corpus itself. In every later copy each board lacks two or more of its pieces, a different
choice in each copy, so that the result holds nearly COPIES times as many different boards, and about the
same share of rows that meet on one board.

What holds for every copy:

* Boards that are equal in the corpus stay equal within a copy. The choice depends on the board, the number of
  the copy and the moves that any row of the corpus lists for that board, on nothing else; it is the same on
  every machine.
* Every SFEN stays valid: both kings stay, and a board of fewer than 40 pieces is a legal one.
* Every move stays legal. A piece that a listed move starts from stays. So do the two nearest pieces on each
  line (rank, file or diagonal) from a king, or from a square that a listed move takes the king to: even when
  the nearest one moves, nothing is uncovered, so no check appears where there was none. Where a listed move
  drops a pawn in front of the enemy king, which must not mate, only pieces of the mover go, and none from the
  lines of the squares around that king: it keeps every way out.
* Only the board, and the number of the game, change; a smaller corpus is the beginning of a larger one.

A board too bare for a choice of its own is repeated as it is. The script says how many rows that are.
"""

import argparse
import itertools
import os
import zlib
from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

LEAST_REMOVED = 2
COVERS = 2
KINGS = ("K", "k")
SQUARES = {(x, y): None for x in range(9) for y in range(9)}  # ordered, unlike a set
DIRECTIONS = [(x, y) for x in (-1, 0, 1) for y in (-1, 0, 1) if (x, y) != (0, 0)]


class Board:
    """One position of the corpus: its squares, and the pieces that may go."""

    def __init__(self, key, moves):
        placement, side, self.hand = key.split(" ")
        self.side = side
        self.ranks = [read_rank(text) for text in placement.split("/")]
        self.text = placement.split("/")
        self.free = self.removable(moves)

    def at(self, x, y):
        """The piece at column x, counted from file 9, and rank y, both from 0; '' where there is none."""
        return self.ranks[y][x]

    def removable(self, moves):
        """The squares whose pieces no listed move and no king depends on."""
        kings = {self.at(*s): s for s in SQUARES if self.at(*s) in KINGS}
        enemy, forward = (kings["k"], -1) if self.side == "b" else (kings["K"], 1)
        kept, centres, pawn_check = set(), set(kings.values()), False
        for move in moves:
            to = square(move[2:4])
            if move[1] == "*":
                pawn_check |= move[0] == "P" and to == (enemy[0], enemy[1] - forward)
                continue
            start = square(move[0:2])
            kept.add(start)
            if start in kings.values():
                centres.add(to)
        if pawn_check:
            centres.update(s for s in SQUARES if max(abs(s[0] - enemy[0]), abs(s[1] - enemy[1])) == 1)
            kept.update(s for s in SQUARES if self.at(*s).isupper() != (self.side == "b"))
        kept |= centres
        for centre, direction in itertools.product(centres, DIRECTIONS):
            kept.update(self.nearest(centre, direction))
        return [s for s in SQUARES if self.at(*s) and s not in kept]

    def nearest(self, start, direction):
        """The squares of the COVERS nearest pieces in a direction, not counting kings: those may move."""
        (x, y), (dx, dy) = start, direction
        line = [(x + dx * n, y + dy * n) for n in range(1, 9)]
        return [s for s in line if s in SQUARES and self.at(*s) not in ("", *KINGS)][:COVERS]

    def without(self, gone):
        """The SFEN of the board, side and hand, with the pieces on the squares `gone` taken off."""
        text = list(self.text)
        for y in {y for _, y in gone}:
            text[y] = write_rank(["" if (x, y) in gone else piece for x, piece in enumerate(self.ranks[y])])
        return f"{'/'.join(text)} {self.side} {self.hand}"


def square(usi):
    """A USI square such as 7g as (x, y)."""
    return 9 - int(usi[0]), ord(usi[1]) - ord("a")


def read_rank(text):
    """One rank of an SFEN as nine strings, '' for an empty square."""
    cells, promoted = [], ""
    for c in text:
        if c.isdigit():
            cells += [""] * int(c)
        elif c == "+":
            promoted = c
        else:
            cells.append(promoted + c)
            promoted = ""
    return cells


def write_rank(cells):
    """The reverse of read_rank."""
    return "".join(
        str(len(list(run))) if empty else "".join(run)
        for empty, run in itertools.groupby(cells, key=lambda c: c == "")
    )


def choices(pieces, copies):
    """A set of pieces for each copy from 1, as indices: pairs, then triples and so on, singles last."""
    chosen = []
    for size in [*range(LEAST_REMOVED, pieces + 1), *range(1, LEAST_REMOVED)]:
        # in an order that looks random, so that neighbouring copies do not clear the same corner of the board
        chosen += sorted(itertools.combinations(range(pieces), size), key=lambda c: (zlib.crc32(bytes(c)), c))
        if len(chosen) >= copies - 1:
            break
    return chosen[: copies - 1]


def scaled_sfens(rows, copies):
    """For each copy, the `sfen` column; and the number of rows that repeat their board."""
    split = [sfen.rsplit(" ", 1) for sfen in rows["sfen"]]
    moves = defaultdict(set)
    for (key, _), cand in zip(split, rows["cand"]):
        moves[key].update(cand)
    boards = {key: Board(key, listed) for key, listed in moves.items()}
    by_count = {n: choices(n, copies) for n in {len(b.free) for b in boards.values()}}
    yield rows["sfen"], 0
    for k in range(1, copies):
        thinned, repeated = {}, set()
        for key, board in boards.items():
            chosen = by_count[len(board.free)]
            if k > len(chosen):
                repeated.add(key)
                thinned[key] = key
            else:
                thinned[key] = board.without({board.free[i] for i in chosen[k - 1]})
        yield [f"{thinned[key]} {number}" for key, number in split], sum(key in repeated for key, _ in split)


def scale(corpus, copies, out):
    """Writes the scaled corpus, one row group a copy, and returns (rows, rows that repeat their board)."""
    table = pq.read_table(corpus)
    rows = table.select(["sfen", "cand"]).to_pydict()
    games = (pc.max(table["game"]).as_py() + 1) if "game" in table.column_names else 0
    repeats = 0
    part = f"{out}.part"
    with pq.ParquetWriter(part, table.schema, compression="zstd") as writer:
        for k, (sfens, repeated) in enumerate(scaled_sfens(rows, copies)):
            copy = with_column(table, "sfen", pa.array(sfens, table.schema.field("sfen").type))
            if games:
                copy = with_column(
                    copy, "game", pc.add(table["game"], pa.scalar(k * games, table["game"].type))
                )
            writer.write_table(copy)
            repeats += repeated
    os.replace(part, out)
    return table.num_rows * copies, repeats


def with_column(table, name, column):
    """The table with one column replaced."""
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), column)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("copies", type=int)
    parser.add_argument("out")
    args = parser.parse_args()
    if args.copies < 1:
        parser.error("COPIES must be 1 or more")
    rows, repeats = scale(args.corpus, args.copies, args.out)
    print(f"{args.out}: {rows} rows, {repeats} of them on a board that an earlier copy holds")


if __name__ == "__main__":
    main()
