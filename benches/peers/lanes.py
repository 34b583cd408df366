#!/usr/bin/env python3
"""A trace of truncated backpropagation over lanes: which rows each micro-batch of an epoch reads (needs pyarrow).

A lane is one side of one round of an episode, and its rows are read in their order, 16 decisions at a time. A batch
takes the next chunk of each of the open lanes until it has 256 rows; a lane that ends makes room for the next one.
With --order shuffled lanes begin in an order that a seed fixes, over all days; with --order stored as they are stored.

Writes a line a batch: runs of rows, `day:first-last`, the last not included.
"""

import argparse
import random
from collections import deque
from pathlib import Path

import pyarrow.parquet as pq

DECISIONS, ROWS = 16, 256
COLUMNS = ["episode_id", "side", "new_episode", "decision_id"]


def lanes(day, path):
    """The lanes of a day, each a list of chunks (day, first row, last row + 1)."""
    table = pq.read_table(path, columns=COLUMNS)
    episode, side, new, decision = (table[name].to_pylist() for name in COLUMNS)
    found, chunk, seen = [], 0, 0
    for row in range(len(episode)):
        begins = row == 0 or new[row] or (episode[row], side[row]) != (episode[row - 1], side[row - 1])
        if begins:
            found.append([])
        elif decision[row] != decision[row - 1]:
            seen += 1
        if begins or seen == DECISIONS:
            found[-1].append((day, row, row))
            seen = 0
        found[-1][-1] = (day, found[-1][-1][1], row + 1)
    return found


def batches(waiting):
    """Micro-batches: the next chunk of one open lane after the other."""
    waiting, open_lanes = deque(map(deque, waiting)), deque()
    while waiting or open_lanes:
        batch, rows, later = [], 0, deque()
        while rows < ROWS and (open_lanes or waiting):
            lane = open_lanes.popleft() if open_lanes else waiting.popleft()
            batch.append(lane.popleft())
            rows += batch[-1][2] - batch[-1][1]
            if lane:
                later.append(lane)
        open_lanes.extend(later)
        yield batch


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("days", nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--order", choices=["shuffled", "stored"], default="shuffled")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    all_lanes = [lane for day, path in enumerate(args.days) for lane in lanes(day, path)]
    if args.order == "shuffled":
        random.Random(args.seed).shuffle(all_lanes)
    lines = (" ".join(f"{day}:{start}-{end}" for day, start, end in batch) for batch in batches(all_lanes))
    args.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
