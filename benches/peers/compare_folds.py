#!/usr/bin/env python3
"""Compare the peer's fold with Foldline's, row for row (needs pyarrow).

The peer keeps boards as SFEN text and moves as USI text; the shards hold `packed` and move16 (docs/formats/
has both). The peer's are turned into the shards' here. `packed`, `ply`, `weight`, `mv` and `cp` must be
equal, `value_z`, `value_q` and `prob` within 1e-6. The order of the rows, and of the candidates in a row,
does not count.

Prints one JSON line; exits with 1 where anything differs.
"""

import argparse
import functools
import json
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

TOLERANCE = 1e-6
EXAMPLES = 3
EMPTY = 0xFF
WHITE = 0x10
KINDS = {
    name: kind
    for kind, name in enumerate(["K", "R", "B", "G", "S", "N", "L", "P", "+R", "+B", "+S", "+N", "+L", "+P"])
}
HAND = "PLNSGBR"


def packed(board):
    """The 96 bytes of an SFEN without its number: 81 squares down the files from 9a, both hands, the side."""
    placement, side, hand = board.split(" ")
    by_rank = b"".join(map(packed_rank, placement.split("/")))
    by_file = b"".join(by_rank[column::9] for column in range(9))
    return by_file + packed_hands(hand) + (b"\1" if side == "w" else b"\0")


@functools.cache
def packed_rank(text):
    """One rank, from file 9 to file 1, a byte a square."""
    cells, promoted = bytearray(), ""
    for c in text:
        if c.isdigit():
            cells += bytes([EMPTY]) * int(c)
        elif c == "+":
            promoted = c
        else:
            cells.append(KINDS[promoted + c.upper()] | (WHITE if c.islower() else 0))
            promoted = ""
    if len(cells) != 9:
        raise ValueError(f"a rank of {len(cells)} squares: {text!r}")
    return bytes(cells)


@functools.cache
def packed_hands(text):
    """Black's seven counts, then White's."""
    counts, number = bytearray(14), ""
    for c in text.replace("-", ""):
        if c.isdigit():
            number += c
        else:
            counts[HAND.index(c.upper()) + (7 if c.islower() else 0)] = int(number or 1)
            number = ""
    return bytes(counts)


def move16(usi):
    """A USI move as a number: to, then from (or 81 and the kind of a drop) << 7, then promotion << 14."""
    start = 81 + HAND.index(usi[0]) if usi[1] == "*" else square(usi[0:2])
    return square(usi[2:4]) | start << 7 | usi.endswith("+") << 14


def square(usi):
    """The index of a USI square: down the files, from 9a."""
    return (9 - int(usi[0])) * 9 + ord(usi[1]) - ord("a")


def peer_rows(path):
    """The peer's fold, with its boards and moves as the shards state them."""
    table = pq.read_table(path).combine_chunks()
    boards = pa.array(map(packed, table["board"].to_pylist()), pa.binary(96))
    lists = table["candidates"].combine_chunks()
    moves = lists.flatten().field("mv").dictionary_encode()
    numbers = pa.array(map(move16, moves.dictionary.to_pylist()), pa.uint16()).take(moves.indices)
    return Fold(table, boards, lists, numbers)


def shard_rows(paths):
    """The rows of all shards as one fold."""
    table = ds.dataset(paths, format="parquet").to_table().combine_chunks()
    lists = table["candidates"].combine_chunks()
    return Fold(table, table["packed"].combine_chunks(), lists, lists.flatten().field("mv"))


class Fold:
    """A fold with its rows in the order of `packed`, and its candidates in the order of row and move."""

    def __init__(self, table, boards, lists, moves):
        order = pc.sort_indices(boards)
        self.boards = boards.take(order)
        self.rows = {
            name: table[name].combine_chunks().take(order) for name in ("ply", "weight", "value_z", "value_q")
        }
        rank = pc.cast(pc.sort_indices(order), pa.int64())
        key = pc.add(
            pc.multiply(rank.take(pc.list_parent_indices(lists)), 1 << 16), pc.cast(moves, pa.int64())
        )
        order = pc.sort_indices(key)
        self.key = key.take(order)
        candidates = lists.flatten()
        self.candidates = {name: candidates.field(name).take(order) for name in ("cp", "prob")}

    def repeated(self):
        """How many boards stand in more than one row."""
        return len(self.boards) - len(self.boards.unique())


def unequal(ours, theirs, tolerance=None):
    """The places at which two arrays of one length differ; a null equals nothing."""
    if tolerance is None:
        same = pc.equal(ours, theirs)
    else:
        same = pc.less_equal(
            pc.abs(pc.subtract(pc.cast(ours, pa.float64()), pc.cast(theirs, pa.float64()))), tolerance
        )
    return pc.indices_nonzero(pc.invert(pc.fill_null(same, False))).to_pylist()


def compare(peer, ours):
    """What differs, as {what: how many} and some examples; nothing where all is equal."""
    differ, examples = {}, []
    if ours.repeated() or peer.repeated():
        return {"boards in several rows": ours.repeated() + peer.repeated()}, examples
    if not ours.boards.equals(peer.boards):
        one, other = set(ours.boards.to_pylist()), set(peer.boards.to_pylist())
        return {
            "boards of Foldline alone": len(one - other),
            "boards of the peer alone": len(other - one),
        }, examples
    if not ours.key.equals(peer.key):
        one, other = set(ours.key.to_pylist()), set(peer.key.to_pylist())
        return {
            "candidates of Foldline alone": len(one - other),
            "candidates of the peer alone": len(other - one),
        }, examples

    def check(name, mine, others, row, tolerance):
        places = unequal(mine, others, tolerance)
        if places:
            differ[name] = len(places)
            examples.extend(
                {
                    "column": name,
                    "packed": ours.boards[row(i)].as_py().hex(),
                    "foldline": mine[i].as_py(),
                    "peer": others[i].as_py(),
                }
                for i in places[:EXAMPLES]
            )

    for name, mine in ours.rows.items():
        check(name, mine, peer.rows[name], lambda i: i, TOLERANCE if name.startswith("value") else None)
    for name, mine in ours.candidates.items():
        check(
            name,
            mine,
            peer.candidates[name],
            lambda i: ours.key[i].as_py() >> 16,
            TOLERANCE if name == "prob" else None,
        )
    return differ, examples


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("peer")
    parser.add_argument("shards", nargs="+")
    args = parser.parse_args()
    peer, ours = peer_rows(args.peer), shard_rows(args.shards)
    differ, examples = compare(peer, ours)
    print(
        json.dumps(
            {
                "rows": len(ours.boards),
                "candidates": len(ours.key),
                "equal": not differ,
                "differ": differ,
                "examples": examples,
            }
        )
    )
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
